; Rows of 65 columns, a strip and one column more, which are stored or computed for every use of them.
(model strips_of_computed
  (input x f32 (n 65)) (input o i64 (b+1)) (input i i64 (l)) (input v f32 (l))
  (output p (emb.spmm_computed (nn.abs x) i o v))
  (data (seed 1) (size n 10) (size b 4) (size l 4)
    (x (uniform -1 1)) (o (fixed 1)) (i (uniform 0 10)) (v (uniform 0 1))))
