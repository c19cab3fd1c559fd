(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data 
    (seed 1) (seed 2)
    (size b 4)
    (size b 5)
    (table (constant 1))
    (table (constant 2))))
