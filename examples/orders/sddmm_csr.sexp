; A product of dense matrices, sampled at entries in CSR form.
(model sddmm_csr
  (input x f32 (nodes 32))
  (input z f32 (nodes 32))
  (input offsets i64 (nodes+1)) (input indices i64 (entries))
  (output out (emb.sddmm x z indices offsets))
  (data (seed 1)
    (graph g (rmat (nodes 2000) (edges 10000))) (offsets (offsets-of g)) (indices (neighbours-of g))
    (x (uniform -1.0 1.0)) (z (uniform -1.0 1.0))))
