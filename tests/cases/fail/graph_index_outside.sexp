; A graph with more nodes than there are rows of features.
(model m
  (input x f32 (10 4)) (input i i64 (edges)) (input o i64 ((+ rows 1)))
  (output out (emb.bag sum x i o))
  (data
    (graph g (rmat (nodes 20) (edges 30)))
    (x (uniform 0 1)) (i (neighbours-of g)) (o (offsets-of g))))
