; A quotient by an inner product that is 0. Reordered, the sum may be any small number: no error bound is finite.
(model not_judged
  (input a f32 (rows 16))
  (input b f32 (rows 16))
  (input indices i64 (edges))
  (input offsets i64 (rows+1))
  (output out (nn.div (emb.sddmm b b indices offsets) (emb.sddmm a b indices offsets)))
  (data (seed 1)
    (a (values
      (0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0 1.1 1.2 1.3 1.4 1.5 -12.0)
      (0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0 1.1 1.2 1.3 1.4 1.5 -12.0)))
    (b (uniform 1.0 1.0))
    (offsets (values 0 1 2))
    (indices (values 1 0))))
