; Hand-written programs for a machine that cannot prefetch: one form that it lacks something for, and two forms of which
; it is able to run the second.
(model lacking
  (input table   f32 (rows 64))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (programs
    (prefetched "../../programs/bag_sum_prefetch_64.dlc")
    (either "../../programs/bag_sum_prefetch_64.dlc"
            "../../programs/bag_sum_registers_64.dlc"))
  (data (seed 7)
    (size rows 10)
    (table   (uniform -1.0 1.0))
    (offsets (values 0 0 3 3 3 4 11 12 12))
    (indices (values 5 0 7 7 1 2 3 4 5 6 0 9))))
