; A small embedding bag in which every lookup has a weight.
(model bag_weighted
  (input table   f32 (rows 24))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (input weights f32 (lookups))
  (output out (emb.bag sum table indices offsets weights))
  (data (seed 1)
    (size rows 1000) (size bags 32)
    (table   (uniform -1.0 1.0))
    (offsets (ragged (mean 12) (empty 0.2)))
    (indices (zipf 1.05))
    (weights (uniform 0.0 1.0))))
