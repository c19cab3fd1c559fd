; A graph of five nodes without edges.
(model graph_empty
  (input features   f32 (nodes 32))
  (input neighbours i64 (edges))
  (input offsets    i64 ((+ nodes 1)))
  (output out (emb.bag sum features neighbours offsets))
  (data (seed 1)
    (graph g (rmat (nodes 5) (edges 0)))
    (features   (uniform -1.0 1.0))
    (neighbours (neighbours-of g))
    (offsets    (offsets-of g))))
