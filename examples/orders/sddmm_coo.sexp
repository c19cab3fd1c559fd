; A product of dense matrices, sampled at entries in COO form.
(model sddmm_coo
  (input x f32 (nodes 32))
  (input z f32 (nodes 32))
  (input rows i64 (entries)) (input columns i64 (entries))
  (output out (emb.sddmm_coo x z rows columns))
  (data (seed 1)
    (size nodes 2000) (size entries 10000) (rows (zipf 0.8)) (columns (zipf 0.8))
    (x (uniform -1.0 1.0)) (z (uniform -1.0 1.0))))
