; Blocks of rows, looked up one at a time.
(model block_gather
  (input table   f32 (blocks 4 32))
  (input indices i64 (lookups))
  (output out (emb.block_gather table indices))
  (data (seed 7)
    (size blocks 6)
    (table   (uniform -1.0 1.0))
    (indices (values 5 0 3 3 1))))
