; The lookups of DLRM's RM2: 32 tables of 64 columns as one, 120 lookups a bag, low locality.
(model RM2_L0
  (input table   f32 (rows 64))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (programs
    (paper "../../programs/bag_sum_paper.dlc")
    (expert "../../programs/bag_sum_expert_64.dlc"
            "../../programs/bag_sum_registers_64.dlc"))
  (data (seed 1)
    (size rows 32000000) ; 32 tables of 1 000 000 rows
    (size bags 256 batch) ; 32 tables, 8 samples
    (table   (uniform -1.0 1.0))
    (offsets (fixed 120))
    (indices (locality low))))
