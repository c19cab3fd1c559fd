; A sparse matrix, a list of entries in any order, times a dense one of 128 columns, added to y.
(model list_128
  (input x f32 (nodes 128)) (input y f32 (nodes 128))
  (input rows i64 (entries)) (input columns i64 (entries)) (input values f32 (entries))
  (output out (emb.spmm_coo y x rows columns values))
  (data (seed 1)
    (size nodes 2000) (size entries 20000)
    (rows (zipf 0.8)) (columns (zipf 0.8))
    (x (uniform -1.0 1.0)) (y (uniform -1.0 1.0)) (values (uniform -1.0 1.0))))
