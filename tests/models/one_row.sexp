; A single row, whose loop is removed: what a statement computes of it depends on no loop of the access unit.
(model one_row
  (input x f32 (1 100))
  (output y (nn.slice 1 11 63 (nn.softmax x)))
  (output t (nn.transpose y))
  (data (seed 1) (x (uniform -1 1))))
