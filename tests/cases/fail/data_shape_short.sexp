(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data (size rows 2) (table (uniform 0 1)) (indices (values 0 0 0))
    (offsets (values))))
