(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1)) (input w f32 (m))
  (output out (emb.bag sum table indices offsets w))
  (data (seed 1)))
