; A small bag whose programs were written by hand, too.
(model by_hand
  (input table   f32 (rows 32))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (programs
    (paper "../../programs/bag_sum_paper.dlc")
    (expert "../../programs/bag_sum_prefetch_32.dlc"
            "../../programs/bag_sum_registers_32.dlc"))
  (data (seed 7)
    (size rows 400)
    (size bags 6)
    (table   (uniform -1.0 1.0))
    (offsets (fixed 20))
    (indices (locality low))))
