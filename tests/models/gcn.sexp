; Two layers of a graph network: the second gathers what the first one wrote.
(model gcn
  (input x f32 (nodes 32))
  (input w f32 (32 16))
  (input values f32 (edges))
  (input indices i64 (edges))
  (input offsets i64 ((+ nodes 1)))
  (let h (emb.spmm x indices offsets values))
  (let r (nn.relu (nn.matmul h w)))
  (output out (emb.spmm r indices offsets values))
  (data (seed 7)
    (x (uniform -1.0 1.0)) (w (uniform -1.0 1.0)) (values (uniform -1.0 1.0))
    (offsets (values 0 0 3 3 3 4 11 12 12))
    (indices (values 5 0 7 7 1 2 3 4 5 6 0 7))))
