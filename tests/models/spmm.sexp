; A small sparse matrix times a dense one: empty rows first, last and in a row.
(model spmm
  (input x       f32 (columns 21))
  (input values  f32 (entries))
  (input indices i64 (entries))
  (input offsets i64 ((+ rows 1)))
  (output out (emb.spmm x indices offsets values))
  (data (seed 7)
    (size columns 8)
    (x      (uniform -1.0 1.0))
    (values (uniform -1.0 1.0))
    (offsets (values 0 0 3 3 3 4 11 12 12))
    (indices (values 5 0 7 7 1 2 3 4 5 6 0 7))))
