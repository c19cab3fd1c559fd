(model m
  (input x f32 (a)
  (input y f32 (a))
  (output out (add x y)))
