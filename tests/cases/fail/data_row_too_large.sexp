(model m (input x f32 (2 10000000000)) (input w f32 (n 64)) (input a f32 (1 n))
  (output out (nn.row_sum x)) (output p (nn.matmul a w))
  (data (size n 100000000) (x (uniform 0 1)) (w (uniform 0 1)) (a (uniform 0 1))))
