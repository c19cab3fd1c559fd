(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data (table (values 1 2 3 4)) (offsets (ragged (mean 0) (empty 1) (empty 1)))))
