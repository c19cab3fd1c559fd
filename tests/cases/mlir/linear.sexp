; A product of few rows by a large matrix, whose rows are read a part of the depth at a time.
(model linear
  (input x f32 (batch 1024)) (input w f32 (1024 1024))
  (output y (nn.matmul x w))
  (data (seed 1) (size batch 20 batch) (x (uniform -1.0 1.0)) (w (uniform -1.0 1.0))))
