; Lookups of three tables of different lengths, which cores divide, beside the samples' own features.
(model tables
  (input dense f32 (batch 64))
  (input items f32 (rows0 64)) (input indices0 i64 (lookups0)) (input offsets0 i64 ((+ batch 1)))
  (input users f32 (rows1 64)) (input indices1 i64 (lookups1)) (input offsets1 i64 ((+ batch 1)))
  (input shops f32 (rows2 64)) (input indices2 i64 (lookups2)) (input offsets2 i64 ((+ batch 1)))
  (output out (nn.concat
    (nn.relu dense)
    (emb.bag sum items indices0 offsets0)
    (emb.bag sum users indices1 offsets1)
    (emb.bag sum shops indices2 offsets2)))
  (data (seed 1) (size batch 48 batch) (size rows0 5000) (size rows1 3000) (size rows2 100)
    (dense (uniform -1.0 1.0))
    (items (uniform -1.0 1.0)) (offsets0 (fixed 40)) (indices0 (zipf 1.05))
    (users (uniform -1.0 1.0)) (offsets1 (fixed 11)) (indices1 (zipf 1.05))
    (shops (uniform -1.0 1.0)) (offsets2 (ragged (mean 4) (empty 0.1))) (indices2 (zipf 1.05))))
