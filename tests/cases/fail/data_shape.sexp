(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data (size n 4)
    (table (values (1 2 3)))
    (indices (values 0 0 0))
    (offsets (values 0 3))))
