(model m (input x f32 (n 4)) (input y f32 (m 5)) (input z f64 (m 4)) (input i i64 (k))
  (input o i64 (r+1)) (input v f32 (k 1))
  (output a (emb.sddmm x y i o)) (output b (emb.mp relu x z i o)) (output c (emb.sddmm x x i o))
  (output d (emb.mp square x x i o)) (output e (emb.spmm x i o v)))
