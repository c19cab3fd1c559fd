(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (bags))
  (output out (emb.bag sum table indices offsets))
  (data (seed 1)))
