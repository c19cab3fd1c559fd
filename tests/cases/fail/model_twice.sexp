(model m (input t f32 (4 2)) (input i i64 (3)) (output o (emb.gather t i))
  (output p (emb.gather t i))
  (data (t (constant 1)) (i (constant 0)))
  (data (seed 3)))
