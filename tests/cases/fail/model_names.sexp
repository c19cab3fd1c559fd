(model m (input x f32 (n 4))
  (let x (nn.relu x)) (let n (nn.relu x)) (let a) (let seed (nn.relu x))
  (output a (nn.relu y)) (output a (nn.relu x)))
