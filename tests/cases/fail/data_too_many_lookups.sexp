(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data (size rows 9) (size b 1000) (table (uniform 0 1)) (indices (zipf 1)) (offsets (ragged (mean 1e9)))))
