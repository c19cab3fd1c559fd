; Rows that are added to others: no row of the result follows from the same row of its operands.
(model scattered
  (input table   f32 (nodes 16))
  (input rows    f32 (messages 16))
  (input targets i64 (messages))
  (output out (emb.scatter_add table targets rows))
  (data (seed 7)
    (table (uniform -1.0 1.0)) (rows (uniform -1.0 1.0))
    (size nodes 8)
    (targets (values 5 0 7 7 1 2 3 4 5 6 0 7))))
