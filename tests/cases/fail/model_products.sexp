(model m (input x f32 (n 4)) (input y f32 (5 n)) (input z f32 (b n 4)) (input w f64 (4 4))
  (input b2 f32 (c 4 4)) (input i i64 (n 4))
  (output p (nn.matmul x y)) (output q (nn.matmul_t x y)) (output r (nn.matmul x z))
  (output s (nn.matmul x w)) (output t (nn.matmul z b2)) (output u (nn.matmul i i)))
