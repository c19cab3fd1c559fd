(model m
  (input table f32 (rows 4)) (input indices i64 (n))
  (output out (emb.bag sum table indices)))
