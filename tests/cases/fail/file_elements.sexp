; Element types that a model cannot have, and one that it declares otherwise.
(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data (size b 1) (table (file "complex.npy")) (indices (file "shorts.npy")) (offsets (file "ints.npy"))))
