; Blocks of rows, several for each query.
(model block_gather_rows
  (input table   f32 (blocks 2 21))
  (input indices i64 (queries 3))
  (output out (emb.block_gather table indices))
  (data (seed 7)
    (size blocks 6)
    (table   (uniform -1.0 1.0))
    (indices (values (5 0 3) (3 3 1)))))
