; A message-passing layer as FusedMM has it (Rahman et al., 2021): each edge's weight is the sigmoid of
; the inner product of its two ends, and each node sums its neighbours' rows by these weights.
(model fusedmm
  (input x f32 (nodes 64))
  (input y f32 (nodes 64))
  (input indices i64 (edges))
  (input offsets i64 ((+ nodes 1)))

  (output out (emb.mp sigmoid x y indices offsets))

  (data (seed 1) (size nodes 1000)
    (x (uniform -0.5 0.5))
    (y (uniform -0.5 0.5))
    (offsets (ragged (mean 10) (empty 0.02)))
    (indices (zipf 0.8))))
