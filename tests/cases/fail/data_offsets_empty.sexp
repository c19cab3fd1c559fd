(model m (input table f32 (2 4)) (input i i64 (0)) (input o i64 ((+ b 1)))
  (output out (emb.bag sum table i o))
  (data (table (uniform 0 1)) (i (values)) (o (file "empty.npy"))))
