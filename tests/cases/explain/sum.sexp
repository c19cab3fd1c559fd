(+ (+ x x) (half 8))
