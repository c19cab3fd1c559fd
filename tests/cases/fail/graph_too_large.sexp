; Edges of a graph are held, so there may not be too many.
(model m
  (input x f32 (nodes 4)) (input i i64 (edges)) (input o i64 ((+ rows 1)))
  (output out (emb.bag sum x i o))
  (data
    (graph g (rmat (nodes 1000) (edges 4000000000)))
    (x (uniform 0 1)) (i (neighbours-of g)) (o (offsets-of g))))
