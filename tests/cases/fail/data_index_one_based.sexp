(model m
  (input table f32 (rows 1)) (input indices i64 (n))
  (output out (emb.gather table indices))
  (data (table (values (1) (2) (3))) (indices (values 1 3 2))))
