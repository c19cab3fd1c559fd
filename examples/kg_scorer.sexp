; A knowledge graph's scorer: how likely each triple of head, relation and tail is, by DistMult
; (Yang et al., 2015).
(model kg_scorer
  (input entities f32 (count 128))
  (input relations f32 (kinds 128))
  (input heads i64 (triples))
  (input rels i64 (triples))
  (input tails i64 (triples))

  (output scores (emb.kg distmult entities relations heads rels tails))

  (data (seed 1) (size count 100000) (size kinds 51) (size triples 2048 batch)
    (entities (uniform -0.2 0.2))
    (relations (uniform -0.2 0.2))
    (heads (zipf 0.9)) (rels (zipf 0.9)) (tails (zipf 0.9))))
