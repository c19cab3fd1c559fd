; Message passing over part of a graph like com-Youtube: the sigmoid of each edge's dot product weighs what
; is sent along it. Its published speedups, smaller than wiki-Talk's in the same ratio as those of recommenders with
; 32 columns are smaller than those with more, suggest 32 columns.
(model MP_com-Youtube
  (input features f32 (nodes 32))
  (input states   f32 (rows 32))
  (input neighbours i64 (edges))
  (input offsets    i64 ((+ rows 1)))
  (output out (emb.mp sigmoid states features neighbours offsets))
  (programs
    (paper "../../programs/mp_sigmoid_paper.dlc")
    (expert "../../programs/mp_sigmoid_expert_32.dlc"
            "../../programs/mp_sigmoid_registers_32.dlc"))
  (data (seed 1)
    (graph g (kind com-Youtube) (scale 0.25) (batch 4000))
    (offsets    (offsets-of g))
    (neighbours (neighbours-of g))
    (features (uniform -0.125 0.125))
    (states   (uniform -0.125 0.125))))
