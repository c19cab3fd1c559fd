; Lengths are whole numbers in one dimension.
(model m (input x f32 (4 2)) (input i64s i64 (n)) (input l f32 (3)) (input offsets i64 (4))
  (output o (emb.bag sum x i64s offsets))
  (data (x (constant 1)) (l (values 1 2 3)) (offsets (running-sum l)) (i64s (uniform 0 4))))
