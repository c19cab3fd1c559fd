(model m (input t f32 (9 4)) (input i i64 (n)) (output o (emb.gather t i))
  (data (t (uniform 0 1)) (i (zipf 1))))
