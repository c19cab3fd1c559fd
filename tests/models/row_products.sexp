; The product of every row with every other: each row of the output needs all rows of the input.
(model row_products
  (input x f32 (rows 8))
  (output out (nn.matmul_t x x))
  (data (seed 1)
    (size rows 10)
    (x (uniform -1.0 1.0))))
