(model m
  (input table f32 (rows)) (input indices f32 (n)) (input offsets i64 (b+1 2))
  (output out (emb.bag sum table indices offsets)))
