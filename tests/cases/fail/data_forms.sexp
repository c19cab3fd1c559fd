(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data 
    7
    (seed -1)
    (size rows)
    (size rwos 4)
    (tabel (uniform 0 1))
    (weights (zipf 1))))
