(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data (size rows 2) (table (file "no-such.npy")) (indices (file "sub/no-such.npy")) (offsets (file "no-such.safetensors" "o"))))
