(model m (input x f32 (n 4)) (input y f32 (n 5)) (input z f32 (n d)) (input w f32 (k 4))
  (input v f64 (n 4)) (input u f32 (n d d))
  (output p (nn.stack x y)) (output q (nn.concat x z)) (output r (nn.concat x w))
  (output s (nn.stack x v)) (output t (nn.interact u)) (output o (nn.stack x)))
