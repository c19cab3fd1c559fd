; Elements are those of inputs.
(model m (input x f32 (4 2)) (input a i64 (e)) (input p i64 (e))
  (output o (emb.gather x p))
  (data (size e 3) (x (constant 1)) (a (values 0 1 2)) (p (computed (element (add a 1) a)))))
