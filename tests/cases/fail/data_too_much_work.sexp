(model m (input t f32 (2 100000000)) (input i i64 (n)) (input o i64 (b+1))
  (output out (emb.bag sum t i o))
  (data (size b 1) (t (uniform 0 1)) (i (zipf 0)) (o (ragged (mean 100000)))))
