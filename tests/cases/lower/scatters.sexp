; Three updates by one index, of rows that a vector holds: their loops over vectors run once.
(model scatters
  (input rows f32 (12 4))
  (input to i64 (12))
  (input start f32 (9 4))
  (output sums (emb.scatter_add start to rows))
  (output largest (emb.scatter_max start to rows))
  (let negated (nn.neg rows))
  (output smallest (emb.scatter_max start to negated))
  (data (seed 1)
    (rows (uniform -1 1))
    (to (uniform 0 9))
    (start (constant 0))))
