; A layer of block-sparse attention as in BigBird (Zaheer et al., 2020): each block of 32 queries sees
; as many blocks of keys and values as its row of `seen` names. Both gathers share that stream of
; indices, and both wait for the projections that they gather from.
(model bigbird
  (input x f32 (blocks 32 64))
  (input wq f32 (64 64)) (input bq f32 (64))
  (input wk f32 (64 64)) (input bk f32 (64))
  (input wv f32 (64 64)) (input bv f32 (64))
  (input seen i64 (blocks 8))

  (let q (nn.linear x wq bq))
  (let k (nn.linear x wk bk))
  (let v (nn.linear x wv bv))
  (let weights
    (nn.softmax (nn.scale 0.125 (nn.matmul_t q (emb.block_gather k seen)))))
  (output out (nn.matmul weights (emb.block_gather v seen)))

  (data (seed 1) (size blocks 32 batch)
    (x (uniform -1.0 1.0))
    (wq (uniform -0.1 0.1)) (bq (uniform -0.1 0.1))
    (wk (uniform -0.1 0.1)) (bk (uniform -0.1 0.1))
    (wv (uniform -0.1 0.1)) (bv (uniform -0.1 0.1))
    (seen (blocks (window 3) (global 2) (random 3)))))
