(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data 
    (table (values (1 2 3 4) (1 2 3)))
    (indices (values 1 2.5 x))
    (offsets (values 0 99999999999999999999))))
