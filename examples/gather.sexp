; Rows of a table, one for each lookup.
(model gather
  (input table   f32 (rows 24))
  (input indices i64 (lookups))
  (output out (emb.gather table indices))
  (data (seed 1)
    (size rows 1000) (size lookups 200)
    (table   (uniform -1.0 1.0))
    (indices (locality medium))))
