; A small embedding bag that takes the mean of its rows; an empty bag gives 0.
(model bag_mean
  (input table   f32 (rows 24))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag mean table indices offsets))
  (data (seed 1)
    (size rows 1000) (size bags 32)
    (table   (uniform -1.0 1.0))
    (offsets (ragged (mean 12) (empty 0.2)))
    (indices (zipf 1.05))))
