; Aggregation of a graph network over part of a graph like ogbn-arxiv: its weighted adjacency times
; features of 128 columns.
(model SpMM_arxiv
  (input features f32 (nodes 128))
  (input neighbours i64 (edges))
  (input offsets    i64 ((+ rows 1)))
  (input weights    f32 (edges))
  (output out (emb.spmm features neighbours offsets weights))
  (programs
    (paper "../../programs/spmm_paper.dlc")
    (expert "../../programs/spmm_expert_128.dlc"
            "../../programs/spmm_registers_128.dlc"))
  (data (seed 1)
    (graph g (kind ogbn-arxiv) (scale 1) (batch 1500))
    (offsets    (offsets-of g))
    (neighbours (neighbours-of g))
    (weights  (uniform 0.0 1.0))
    (features (uniform -1.0 1.0))))
