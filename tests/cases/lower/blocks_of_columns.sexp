; A product of a number of rows and a depth that no strip divides.
(model blocks_of_columns
  (input x f32 (batch 70)) (input w f32 (70 48))
  (output y (nn.matmul x w))
  (data (seed 1) (size batch 37 batch) (x (uniform -1.0 1.0)) (w (uniform -1.0 1.0))))
