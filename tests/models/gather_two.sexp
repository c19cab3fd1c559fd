; Blocks of two tables by one stream of indices.
(model gather_two
  (input k f32 (blocks 2 32))
  (input v f32 (blocks 2 32))
  (input indices i64 (queries 3))
  (output kg (emb.block_gather k indices))
  (output vg (emb.block_gather v indices))
  (data (seed 7)
    (size blocks 6)
    (k (uniform -1.0 1.0)) (v (uniform -1.0 1.0))
    (indices (values (5 0 3) (3 3 1)))))
