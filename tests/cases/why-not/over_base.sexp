(+ (sin x) (^ x 2))
