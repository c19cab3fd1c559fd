(model m
  (input a f32 rows)
  (input b i64 (+ bags 1))
  (input c f32 (-1 4))
  (input d f32 (4 (* rows 2)))
  (input e f32 (99999999999999999999 2))
  (input f f32 (1 2 3 4 5 6 7 8 9))
  (input g f32 (rows+x (4)))
  (output out (emb.gather a b)))
