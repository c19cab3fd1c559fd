; A tiny gather of rows that no vector length divides.
(model gather
  (input table   f32 (rows 21))
  (input indices i64 (lookups))
  (output out (emb.gather table indices))
  (data (seed 7)
    (size rows 10)
    (table   (uniform -1.0 1.0))
    (indices (values 5 0 7 7 9))))
