(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (programs (paper "no-such.dlc") (expert "programs_missing.sexp"))
  (data (size rows 10) (size b 2) (table (uniform 0 1)) (indices (zipf 1)) (offsets (ragged (mean 3)))))
