(model m (input t f32 (n 2 4)) (input s f32 (n b 4)) (input i i64 (q j)) (input k i64 (q 3))
  (output x (emb.block_gather t i)) (output y (emb.block_gather s k))
  (output z (emb.block_gather i k)))
