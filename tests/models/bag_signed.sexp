; A sum bag over a table of signed bytes with a scale and a bias for each row.
(model bag_signed
  (input codes   i8  (rows 64))
  (input scales  f32 (rows 2))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum (emb.dequantise codes scales) indices offsets))
  (data (seed 7)
    (size rows 10)
    (codes   (uniform -128 128))
    (scales  (uniform -1.0 1.0))
    (offsets (values 0 0 3 3 3 4 11 12 12))
    (indices (values 5 0 7 7 1 2 3 4 5 6 0 9))))
