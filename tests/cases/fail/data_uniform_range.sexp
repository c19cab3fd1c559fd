(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data 
    (table (uniform -1e39 nan))
    (indices (locality hihg))
    (offsets (ragged (mean 0.5) (empty 0.25)))))
