; A table that the first-level cache holds, of which few rows or none are looked up at a time. A row has 256 bytes.
(model ends
  (input few     f32 (kept 64))
  (input own     i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output sums (emb.bag sum few own offsets))
  (data (seed 1)
    (size kept 64)
    (size bags 4096)
    (few (uniform -1.0 1.0))
    (offsets (ragged (mean 2) (empty 0.5))) (own (uniform 0 64))))
