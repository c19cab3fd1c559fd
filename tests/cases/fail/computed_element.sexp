; Elements are read at places that there are.
(model m (input x f32 (4 2)) (input a i64 (e)) (input map i64 (2 2)) (input p i64 (e))
  (output o (emb.gather x p))
  (data (size e 3) (x (constant 1)) (a (values 0 1 2)) (map (values (0 1) (2 3))) (p (computed (element map (mul a 2))))))
