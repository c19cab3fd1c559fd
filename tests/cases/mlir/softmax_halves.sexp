(model softmax
  (input x f32 (n 8))
  (output r (nn.softmax x))
  (data (seed 1) (size n 4) (x (uniform 0 1))))
