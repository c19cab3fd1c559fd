; Rows of a table are drawn for positions in it, which numbers that positions are computed of are not.
(model m (input x f32 (4 2)) (input a i64 (e)) (input p i64 (e))
  (output o (emb.gather x p))
  (data (size e 3) (x (constant 1)) (a (zipf 1)) (p (computed (floormod a 4)))))
