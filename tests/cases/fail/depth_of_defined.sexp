; Operators that rules define are nested as deeply as others.
(model deep
  (input x f32 (n 16))
  (output o
    (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg (nn.neg x)))))))))))))))))))))))))))))))))))
