; Positions are not computed of other numbers than whole ones.
(model m (input x f32 (4 2)) (input a f32 (e)) (input p i64 (e))
  (output o (emb.gather x p))
  (data (size e 3) (x (constant 1)) (a (values 0 1 2)) (p (computed (add a 2)))))
