; Edges come from rows that are there.
(model m (input x f32 (4 2)) (input dst i64 (e)) (input src i64 (e)) (input offsets i64 (5)) (input from i64 (e))
  (output o (emb.bag sum x from offsets))
  (data (size e 3) (x (constant 1)) (dst (values 0 3 1)) (src (values 0 7 2)) (offsets (row-offsets dst)) (from (in-rows src dst))))
