; Where the rows of `a` are computed for every use of them, `q` is stored, which is not if `a` is.
(model stored_in_a_form
  (input x f32 (n 4)) (input w f32 (4 4)) (input y f32 (n 4))
  (let a (nn.exp x))
  (let p (nn.computed_matmul a w))
  (let q (nn.add p y))
  (output s (nn.concat q q))
  (output t (nn.stack q q))
  (data (seed 1) (size n 5) (x (uniform -1 1)) (w (uniform -1 1)) (y (uniform -1 1))))
