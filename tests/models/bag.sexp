; A tiny sum bag: empty bags first, last and in a row, and a row that no vector length divides.
(model bag
  (input table   f32 (rows 21))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (data (seed 7)
    (size rows 10)
    (table   (uniform -1.0 1.0))
    (offsets (values 0 0 3 3 3 4 11 12 12))
    (indices (values 5 0 7 7 1 2 3 4 5 6 0 9))))
