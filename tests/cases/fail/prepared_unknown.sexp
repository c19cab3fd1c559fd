; What is sorted is an input.
(model m (input x f32 (4 2)) (input dst i64 (e)) (input offsets i64 (5)) (input from i64 (e))
  (output o (emb.bag sum x from offsets))
  (data (size e 3) (x (constant 1)) (dst (values 0 1 1)) (offsets (row-offsets dts)) (from (in-rows src dst))))
