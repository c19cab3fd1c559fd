; Rows of edges whose functions are computed in a pass over all edges, of which each core has its own.
(model passes
  (input x f32 (nodes 64))
  (input y f32 (nodes 64))
  (input indices i64 (edges))
  (input offsets i64 ((+ nodes 1)))
  (output out (emb.mp sigmoid x y indices offsets))
  (data (seed 1)
    (graph g (rmat (nodes 200) (edges 3000)))
    (x (uniform -1.0 1.0)) (y (uniform -1.0 1.0))
    (offsets (offsets-of g)) (indices (neighbours-of g))))
