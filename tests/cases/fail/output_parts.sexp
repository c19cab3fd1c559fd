(model m
  (input table f32 (rows 4)) (input indices i64 (n))
  (output (emb.gather table indices)))
