; A dense matrix times a dense one.
(model spmm_dense
  (input a f32 (rows 64))
  (input x f32 (64 32))
  (output out (nn.matmul a x))
  (data (seed 1)
    (size rows 2000)
    (a (uniform -1.0 1.0)) (x (uniform -1.0 1.0))))
