(+ (sin x) (* (sin x) (sin y)))
