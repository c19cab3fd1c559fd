(model modèle (input größe f32 (4 4)) ; 漢字
  (output 出 (emb.gather t "i")))
