(model m (input x f32 (n 4)) (input i i64 (k)) (input b f32 (4))
  (let a (nn.relu later))
  (let later (nn.bias x b))
  (output out (emb.gather a i)))
