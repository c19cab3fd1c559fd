(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data 
    (table (uniform 2 1))
    (indices (zipf 11))
    (offsets (ragged (mean 80) (empty 1.5)))))
