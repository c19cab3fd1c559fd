(model m
  (input table f32)
  (input %table f32 (4 4))
  (input size i64 (4))
  (input indices f8 (4))
  (output out (emb.gather table indices)))
