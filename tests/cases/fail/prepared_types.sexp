; Values in another order have the type of what they are made of, and rows are whole numbers.
(model m (input x f32 (4 2)) (input dst f32 (e)) (input src i32 (e)) (input offsets i64 (5)) (input from i64 (e))
  (output o (emb.bag sum x from offsets))
  (data (size e 3) (x (constant 1)) (dst (constant 1)) (src (constant 1)) (offsets (row-offsets dst)) (from (in-rows src dst))))
