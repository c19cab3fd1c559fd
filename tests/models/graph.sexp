; A graph with an isolated node (2), a self loop (0), an edge that is there twice (3 to 1) and a node
; that nothing leads to (3).
(model graph
  (input features   f32 (nodes 32))
  (input neighbours i64 (edges))
  (input offsets    i64 ((+ nodes 1)))
  (input weights    f32 (edges))
  (output out (emb.spmm features neighbours offsets weights))
  (data (seed 1)
    (graph g (file "graph.mtx"))
    (features   (uniform -1.0 1.0))
    (neighbours (neighbours-of g))
    (offsets    (offsets-of g))
    (weights    (values-of g))))
