(model m (input t f32 (2 1000000000)) (input i i64 (2)) (output out (emb.gather t i))
  (data (t (uniform 0 1)) (i (values 0 1))))
