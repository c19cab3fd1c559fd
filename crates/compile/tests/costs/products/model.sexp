; A matrix whose rows are longer than what the prefetcher of a core follows.
(model products
  (input x f32 (batch 1536)) (input w f32 (1536 1024))
  (output y (nn.matmul x w))
  (data (seed 1) (size batch 16) (x (uniform -1.0 1.0)) (w (uniform -1.0 1.0))))
