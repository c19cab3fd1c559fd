; The keys of BigBird attention over a sequence of 4096 tokens, 1 embedding of 128 columns a block.
(model SpAttn_1
  (input keys    f32 (blocks 1 128))
  (input pattern i32 (queries 8))
  (output out (emb.block_gather keys pattern))
  (programs
    (paper "../../programs/block_gather_paper.dlc")
    (expert "../../programs/block_gather_registers_128.dlc")
    (temporal-llc "../../programs/block_gather_hints_llc_128.dlc")
    (temporal-l2 "../../programs/block_gather_hints_l2_128.dlc"))
  (data (seed 1)
    (size blocks 4096)
    (size queries 1024 batch)
    (keys (uniform -1.0 1.0))
    (pattern (blocks (window 3) (global 2) (random 3)))))
