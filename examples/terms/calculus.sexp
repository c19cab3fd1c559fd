; Terms for rules/extra/math.rules.
(I (ln x) x)
(I (+ x (cos x)) x)
(I (* (cos x) x) x)
(D x (+ 1 (* 2 x)))
(D x (- (^ x 3) (* 7 (^ x 2))))
(+ (* y (+ x y)) (- (+ x 2) (+ x x)))
(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))
