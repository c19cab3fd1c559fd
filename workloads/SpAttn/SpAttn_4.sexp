; The keys of BigBird attention over a sequence of 4096 tokens, 4 embeddings of 128 columns a block.
(model SpAttn_4
  (input keys    f32 (blocks 4 128))
  (input pattern i32 (queries 8))
  (output out (emb.block_gather keys pattern))
  (programs
    (paper "../../programs/block_gather_paper.dlc")
    (expert "../../programs/block_gather_registers_128.dlc"))
  (data (seed 1)
    (size blocks 1024)
    (size queries 256 batch)
    (keys (uniform -1.0 1.0))
    (pattern (blocks (window 3) (global 2) (random 3)))))
