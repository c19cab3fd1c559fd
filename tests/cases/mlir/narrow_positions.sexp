(model narrow_positions
  (input x f32 (m 4))
  (input i i32 (l))
  (input o i32 (n+1))
  (output r (emb.bag sum x i o)))
