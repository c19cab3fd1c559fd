; The lookups of DLRM's RM1: 8 tables of 32 columns as one, 80 lookups a bag, low locality.
(model RM1_L0
  (input table   f32 (rows 32))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (programs
    (paper "../../programs/bag_sum_paper.dlc")
    (expert "../../programs/bag_sum_prefetch_32.dlc"
            "../../programs/bag_sum_registers_32.dlc"))
  (data (seed 1)
    (size rows 8000000) ; 8 tables of 1 000 000 rows
    (size bags 512 batch) ; 8 tables, 64 samples
    (table   (uniform -1.0 1.0))
    (offsets (fixed 80))
    (indices (locality low))))
