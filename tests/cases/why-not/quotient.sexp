(+ (/ 3 7) (half x))
