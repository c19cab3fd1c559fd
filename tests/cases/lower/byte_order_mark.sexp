(model gather
  (input table f32 (rows 24))
  (input indices i64 (lookups))
  (output out (emb.gather table indices))
  (data (seed 1) (size rows 20) (size lookups 8) (table (uniform -1 1)) (indices (locality medium))))
