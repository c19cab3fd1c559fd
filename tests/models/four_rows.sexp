; The output has four rows whatever the data is.
(model four_rows
  (input table   f32 (rows 8))
  (input indices i64 (4))
  (output out (emb.gather table indices))
  (data (seed 1)
    (size rows 10)
    (table   (uniform -1.0 1.0))
    (indices (values 5 0 7 7))))
