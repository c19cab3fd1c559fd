; Positions are whole numbers, those that are looked up, too.
(model m (input x f32 (4 2)) (input a i64 (e)) (input map f32 (4)) (input p i64 (e))
  (output o (emb.gather x p))
  (data (size e 3) (x (constant 1)) (a (values 0 1 2)) (map (uniform 0 4)) (p (computed (element map a)))))
