; A sparse matrix in CSR form, times a diagonal one, times a dense one.
(model scaled_csr
  (input x f32 (nodes 32))
  (input d f32 (nodes))
  (input offsets i64 (nodes+1)) (input indices i64 (entries))
  (input values f32 (entries))
  (output out (emb.spmm (nn.mul_rows x d) indices offsets values))
  (data (seed 1)
    (graph g (rmat (nodes 2000) (edges 10000))) (offsets (offsets-of g)) (indices (neighbours-of g))
    (x (uniform -1.0 1.0)) (d (uniform -1.0 1.0)) (values (uniform -1.0 1.0))))
