; A bag by an operator that examples/rules/positive_bag.rules defines.
(model positive_bag
  (input table   f32 (rows 32))
  (input indices i64 (lookups))
  (input offsets i64 (bags+1))
  (output out (my.positive_bag table indices offsets))
  (data (seed 1)
    (size rows 10000) (size bags 64)
    (table   (uniform -1.0 1.0))
    (offsets (ragged (mean 8)))
    (indices (zipf 1.05))))
