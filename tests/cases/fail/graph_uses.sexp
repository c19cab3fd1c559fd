; Parts that fit neither their input's rank nor its role nor the sizes.
(model m
  (input x f32 (10 4)) (input i i64 (edges)) (input o i64 ((+ rows 1))) (input w f32 (edges))
  (output out (emb.bag sum x i o w))
  (data
    (graph g (rmat (nodes 20) (edges 30)))
    (x (uniform 0 1)) (i (neighbours-of g)) (o (offsets-of g)) (w (offsets-of g))))
