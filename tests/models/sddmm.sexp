; A small product sampled at the entries of a sparse matrix.
(model sddmm
  (input a       f32 (nodes 32))
  (input b       f32 (others 32))
  (input indices i64 (edges))
  (input offsets i64 ((+ nodes 1)))
  (output out (emb.sddmm a b indices offsets))
  (data (seed 7)
    (size others 8)
    (a (uniform -1.0 1.0))
    (b (uniform -1.0 1.0))
    (offsets (values 0 0 3 3 3 4 11 12 12))
    (indices (values 5 0 7 7 1 2 3 4 5 6 0 7))))
