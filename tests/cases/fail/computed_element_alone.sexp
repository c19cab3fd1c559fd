; An input says how many numbers are computed, and what is read at places does not.
(model m (input x f32 (4 2)) (input map i64 (2 2)) (input p i64 (e))
  (output o (emb.gather x p))
  (data (size e 3) (x (constant 1)) (map (values (0 1) (2 3))) (p (computed (element map 1)))))
