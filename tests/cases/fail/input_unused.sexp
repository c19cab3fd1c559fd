(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input weights f32 (n))
  (output out (emb.gather table indices)))
