; A graph convolutional network of two layers (Kipf and Welling, 2017): each multiplies by its weights
; and sums the rows of a node's neighbours, weighted by the edges. What a layer gathers is what the
; execute unit has just computed, so the access unit waits behind a barrier and then runs ahead.
(model gcn
  (input x f32 (nodes 128))
  (input indices i64 (edges))
  (input offsets i64 ((+ nodes 1)))
  (input values f32 (edges))
  (input w1 f32 (128 64)) (input b1 f32 (64))
  (input w2 f32 (64 64)) (input b2 f32 (64))

  (let p1 (nn.matmul x w1))
  (let h (nn.relu (nn.bias (emb.spmm p1 indices offsets values) b1)))
  (let p2 (nn.matmul h w2))
  (output out (nn.bias (emb.spmm p2 indices offsets values) b2))

  (data (seed 1)
    (graph g (rmat (nodes 4000) (edges 12000)) (undirected) (batch))
    (x (uniform -1.0 1.0))
    (offsets (offsets-of g)) (indices (neighbours-of g))
    (values (uniform 0.0 0.2))
    (w1 (uniform -0.1 0.1)) (b1 (uniform -0.1 0.1))
    (w2 (uniform -0.1 0.1)) (b2 (uniform -0.1 0.1))))
