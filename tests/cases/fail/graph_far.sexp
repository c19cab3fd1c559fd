; Files and sizes of a few bytes that ask for more memory than there is.
(model m
  (input x f32 (nodes 4))
  (input ia i64 (ea)) (input oa i64 ((+ ra 1)))
  (input ib i64 (eb)) (input ob i64 ((+ rb 1)))
  (output a (emb.bag sum x ia oa))
  (output b (emb.bag sum x ib ob))
  (data (size nodes 3) (x (uniform 0 1))
    (graph ga (file "graph_far.tsv"))
    (ia (neighbours-of ga)) (oa (offsets-of ga))
    (graph gb (rmat (nodes 4294967295) (edges 1)))
    (ib (neighbours-of gb)) (ob (offsets-of gb))))
