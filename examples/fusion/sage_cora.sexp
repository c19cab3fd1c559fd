; Two layers of GraphSAGE (Hamilton et al., 2017) over a graph of the size of Cora: a node's own row and the mean of its
; neighbours', each through its own weights. Rows of the first layer are stored, or computed again at every lookup.
(model sage_cora
  (input x f32 (nodes 16))
  (input indices i64 (edges)) (input offsets i64 (nodes+1))
  (input w1_self f32 (16 16)) (input w1_mean f32 (16 16)) (input b1 f32 (16))
  (input w2_self f32 (16 16)) (input w2_mean f32 (16 16)) (input b2 f32 (16))

  (let m1 (emb.bag mean x indices offsets))
  (let h
    (nn.relu (nn.bias (nn.add (nn.computed_matmul x w1_self) (nn.computed_matmul m1 w1_mean)) b1)))
  (let m2 (emb.bag_computed mean h indices offsets))
  (output out
    (nn.bias (nn.add (nn.computed_matmul h w2_self) (nn.computed_matmul m2 w2_mean)) b2))

  (data (seed 1)
    (graph g (kind Cora)) (offsets (offsets-of g)) (indices (neighbours-of g))
    (x (uniform -1.0 1.0))
    (w1_self (uniform -0.1 0.1)) (w1_mean (uniform -0.1 0.1)) (b1 (uniform -0.1 0.1))
    (w2_self (uniform -0.1 0.1)) (w2_mean (uniform -0.1 0.1)) (b2 (uniform -0.1 0.1))))
