; A graph convolutional network of two layers (Kipf and Welling, 2017) over a graph of the size of DBLP. Rows that a node's
; neighbours are looked up in are stored, or computed again at every lookup.
(model gcn_dblp
  (input x f32 (nodes 16))
  (input indices i64 (edges)) (input offsets i64 (nodes+1))
  (input values f32 (edges))
  (input w1 f32 (16 16)) (input b1 f32 (16))
  (input w2 f32 (16 16)) (input b2 f32 (16))

  (let p1 (nn.computed_matmul x w1))
  (let h (nn.relu (nn.bias (emb.spmm_computed p1 indices offsets values) b1)))
  (let p2 (nn.computed_matmul h w2))
  (output out (nn.bias (emb.spmm_computed p2 indices offsets values) b2))

  (data (seed 1)
    (graph g (kind DBLP)) (offsets (offsets-of g)) (indices (neighbours-of g))
    (x (uniform -1.0 1.0)) (values (uniform 0.0 0.2))
    (w1 (uniform -0.1 0.1)) (b1 (uniform -0.1 0.1))
    (w2 (uniform -0.1 0.1)) (b2 (uniform -0.1 0.1))))
