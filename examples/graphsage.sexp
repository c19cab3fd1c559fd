; A GraphSAGE layer (Hamilton et al., 2017): a node's own features and the mean of its neighbours',
; each through its own weights, added.
(model graphsage
  (input x f32 (nodes 128))
  (input indices i64 (edges))
  (input offsets i64 ((+ nodes 1)))
  (input w_self f32 (128 128))
  (input w_neighbours f32 (128 128))
  (input b f32 (128))

  (let mean (emb.bag mean x indices offsets))
  (output out
    (nn.relu (nn.bias (nn.add (nn.matmul x w_self) (nn.matmul mean w_neighbours)) b)))

  (data (seed 1)
    (graph g (rmat (nodes 1000) (edges 10000)) (batch))
    (x (uniform -1.0 1.0))
    (offsets (offsets-of g)) (indices (neighbours-of g))
    (w_self (uniform -0.1 0.1)) (w_neighbours (uniform -0.1 0.1)) (b (uniform -0.1 0.1))))
