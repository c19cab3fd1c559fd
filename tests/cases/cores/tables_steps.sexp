; Lookups of several steps, which are begun and ended by themselves, of rows that no vector length divides; two have one table.
(model tables_steps
  (input items f32 (rows0 50)) (input indices0 i64 (lookups0)) (input offsets0 i64 ((+ batch 1)))
  (input indices1 i64 (lookups1)) (input offsets1 i64 ((+ batch 1)))
  (input users f32 (rows1 50)) (input indices2 i64 (lookups2)) (input offsets2 i64 ((+ batch 1)))
  (output out (nn.concat
    (emb.bag mean items indices0 offsets0)
    (emb.bag max items indices1 offsets1)
    (emb.bag mean users indices2 offsets2)))
  (data (seed 3) (size batch 17) (size rows0 1000) (size rows1 500)
    (items (uniform -1.0 1.0)) (users (uniform -1.0 1.0))
    (offsets0 (fixed 20)) (indices0 (zipf 1.05))
    (offsets1 (ragged (mean 6) (empty 0.3))) (indices1 (zipf 1.05))
    (offsets2 (fixed 9)) (indices2 (zipf 1.05))))
