(model rows
  (input x f32 (rows 2))
  (input at i64 (lookups))
  (output out (emb.gather x at))
  (arguments unordered
    (x (x))
    (at (at))))
