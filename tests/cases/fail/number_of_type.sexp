; An integer type holds no fraction, no number beyond its ends, and neither infinities nor NaN.
(model numbers
  (input x i32 (n 3))
  (output a (nn.add_number x 1.5))
  (output b (nn.add_number x 3000000000))
  (output c (nn.where_number lt x 0.5 x (nn.neg x)))
  (output d (nn.min_number x inf)))
