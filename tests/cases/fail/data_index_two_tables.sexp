(model m
  (input a f32 (4 1)) (input b f32 (2 1)) (input i i64 (n))
  (output p (emb.gather a i)) (output q (emb.gather b i))
  (output r (emb.gather (nn.add a a) i))
  (data (a (constant 1)) (b (constant 1)) (i (values 0 3))))
