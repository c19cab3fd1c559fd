; A DLRM-sized embedding bag of 64 columns whose lookups have medium locality.
(model bag_64_medium
  (input table   f32 (rows 64))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (programs
    (paper "../../programs/bag_sum_paper.dlc")
    (expert "../../programs/bag_sum_expert_64.dlc"
            "../../programs/bag_sum_registers_64.dlc"))
  (data (seed 1)
    (size rows 1000000) (size bags 256)
    (table   (uniform -1.0 1.0))
    (offsets (ragged (mean 80) (empty 0.05)))
    (indices (locality medium))))
