(model m
  (input a f32 (4 1)) (input i i64 (n)) (input j i64 (m)) (input o i64 (b+1))
  (output p (emb.bag sum a i o)) (output q (emb.bag sum a j o))
  (data (a (constant 1)) (i (values 0 3)) (j (values 1 1 1)) (o (values 0 2))))
