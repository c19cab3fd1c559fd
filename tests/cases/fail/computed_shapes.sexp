; Dimensions fit each other.
(model m (input x f32 (4 2)) (input a i64 (3)) (input b i64 (2)) (input p i64 (6))
  (output o (emb.gather x p))
  (data (x (constant 1)) (a (values 0 1 2)) (b (values 0 1)) (p (computed (add a b)))))
