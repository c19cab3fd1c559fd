(log (+ x x))
