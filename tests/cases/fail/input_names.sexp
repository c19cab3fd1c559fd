(model m
  (input table f32 (rows 4))
  (input table f32 (rows 4))
  (input rows i64 (n))
  (input indices i64 (table))
  (output indices (emb.gather table rows)))
