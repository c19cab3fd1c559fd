; Scores of triples of a knowledge graph like ogbl-biokg: TransE, 128 columns.
(model KG_biokg
  (input entities  f32 (nodes 128))
  (input relations f32 (kinds 128))
  (input heads i64 (triples))
  (input rels  i64 (triples))
  (input tails i64 (triples))
  (output scores (emb.kg transe entities relations heads rels tails))
  (programs
    (paper "../../programs/kg_transe_paper.dlc")
    (expert "../../programs/kg_transe_expert_128.dlc"
            "../../programs/kg_transe_registers_128.dlc"))
  (data (seed 1)
    (triples t (kind ogbl-biokg) (batch 4096))
    (heads (heads-of t))
    (rels  (relations-of t))
    (tails (tails-of t))
    (entities  (uniform -1.0 1.0))
    (relations (uniform -1.0 1.0))))
