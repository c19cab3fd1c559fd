(model m (input t f32 (10000000000 2)) (input i i32 (99)) (output out (emb.gather t i))
  (data (t (uniform 0 1)) (i (zipf 0))))
