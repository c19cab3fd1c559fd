; Numbers as MLIR writes them: whole ones without a point, and a point before an exponent.
(model numbers
  (input x i32 (n 4))
  (input y f32 (n 4))
  (output a (nn.max_number (nn.row_sum x) 2))
  (output b (nn.scale 1e-5 y))
  (data (size n 3) (x (uniform -5 5)) (y (uniform 0 1))))
