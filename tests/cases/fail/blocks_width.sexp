; A row of the pattern has more blocks than there are.
(model m
  (input keys f32 (blocks 2 4)) (input pattern i32 (queries 8))
  (output out (emb.block_gather keys pattern))
  (data (size blocks 6) (size queries 2)
    (keys (uniform 0 1)) (pattern (blocks (window 3) (global 2) (random 3)))))
