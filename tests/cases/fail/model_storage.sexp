(model m (input h f16 (n 4)) (input q u8 (n 4)) (input s f32 (n 3)) (input f f32 (n 2))
  (input i i64 (k)) (input o i64 (b+1))
  (output a (emb.bag sum h i o)) (output b (nn.relu q)) (output c (nn.exp i))
  (output d (emb.dequantise q s)) (output e (emb.dequantise f f)) (output g (nn.cast f8 h)))
