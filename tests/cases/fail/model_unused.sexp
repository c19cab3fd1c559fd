(model m (input x f32 (n 4))
  (let a (nn.relu x))
  (output out (nn.exp x)))
