; Scores of queries for the keys of the blocks that each block of them sees, and the values of these weighted by them.
(model block_attention
  (input q f32 (blocks 6 16))
  (input k f32 (blocks 4 16))
  (input v f32 (blocks 4 16))
  (input seen i64 (blocks 3))

  (let scores (nn.scale 0.25 (nn.matmul_t q (emb.block_gather k seen))))
  (output out (nn.matmul scores (emb.block_gather v seen)))

  (data (seed 3) (size blocks 7 batch)
    (q (uniform -1.0 1.0)) (k (uniform -1.0 1.0)) (v (uniform -1.0 1.0))
    (seen (blocks (window 1) (random 2)))))
