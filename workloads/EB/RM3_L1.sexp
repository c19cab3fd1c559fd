; The lookups of DLRM's RM3: 10 tables of 128 columns as one, 20 lookups a bag, medium locality.
(model RM3_L1
  (input table   f32 (rows 128))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (programs
    (paper "../../programs/bag_sum_paper.dlc")
    (expert "../../programs/bag_sum_prefetch_128.dlc"
            "../../programs/bag_sum_registers_128.dlc"))
  (data (seed 1)
    (size rows 10000000) ; 10 tables of 1 000 000 rows
    (size bags 640 batch) ; 10 tables, 64 samples
    (table   (uniform -1.0 1.0))
    (offsets (fixed 20))
    (indices (locality medium))))
