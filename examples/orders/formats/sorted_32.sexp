; The same product, for which the list is sorted into rows before the program runs.
(model sorted_32
  (input x f32 (nodes 32)) (input y f32 (nodes 32))
  (input rows i64 (entries)) (input columns i64 (entries)) (input values f32 (entries))
  (input offsets i64 (nodes+1)) (input sorted_columns i64 (entries)) (input sorted_values f32 (entries))
  (output out (nn.add y (emb.spmm x sorted_columns offsets sorted_values)))
  (data (seed 1)
    (size nodes 2000) (size entries 20000)
    (rows (zipf 0.8)) (columns (zipf 0.8))
    (x (uniform -1.0 1.0)) (y (uniform -1.0 1.0)) (values (uniform -1.0 1.0))
    (offsets (row-offsets rows))
    (sorted_columns (in-rows columns rows))
    (sorted_values (in-rows values rows))))
