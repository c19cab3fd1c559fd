; Message passing over part of a graph like wiki-Talk: the sigmoid of each edge's dot product weighs what
; is sent along it.
(model MP_wiki-Talk
  (input features f32 (nodes 64))
  (input states   f32 (rows 64))
  (input neighbours i64 (edges))
  (input offsets    i64 ((+ rows 1)))
  (output out (emb.mp sigmoid states features neighbours offsets))
  (programs
    (paper "../../programs/mp_sigmoid_paper.dlc")
    (expert "../../programs/mp_sigmoid_prefetch_64.dlc"
            "../../programs/mp_sigmoid_registers_64.dlc"))
  (data (seed 1)
    (graph g (kind wiki-Talk) (scale 0.25) (batch 10000))
    (offsets    (offsets-of g))
    (neighbours (neighbours-of g))
    (features (uniform -0.125 0.125))
    (states   (uniform -0.125 0.125))))
