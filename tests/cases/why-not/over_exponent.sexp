(+ (sin x) (^ 2 x))
