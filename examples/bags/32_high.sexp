; A DLRM-sized embedding bag of 32 columns whose lookups have high locality.
(model bag_32_high
  (input table   f32 (rows 32))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (programs
    (paper "../../programs/bag_sum_paper.dlc")
    (expert "../../programs/bag_sum_expert_32.dlc"
            "../../programs/bag_sum_registers_32.dlc"))
  (data (seed 1)
    (size rows 1000000) (size bags 256)
    (table   (uniform -1.0 1.0))
    (offsets (ragged (mean 80) (empty 0.05)))
    (indices (locality high))))
