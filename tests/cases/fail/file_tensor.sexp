(model m
  (input table f32 (rows 4)) (input indices i64 (n)) (input offsets i64 (b+1))
  (output out (emb.bag sum table indices offsets))
  (data (table (file "bag.safetensors" "tabel")) (indices (file "short.safetensors" "short")) (offsets (file "bag.safetensors"))))
