; The values of requests that a language model serves at the same time, weighted and added. The first request is the
; oldest and has the longest cache.
(model caches
  (input values  f32 (slots 128))
  (input scores  f32 (entries))
  (input slot    i64 (entries))
  (input offsets i64 ((+ requests 1)))
  (output out (emb.bag sum values slot offsets scores))
  (data (seed 1)
    (size slots 8192)
    (values (uniform -1.0 1.0))
    (scores (uniform 0.0 1.0))
    (slot   (uniform 0 8192))
    (offsets (values
      0 908 1774 2600 3387 4136 4849 5526 6169 6779 7358 7906 8425 8915 9378 9815 10226 10613 10977
      11319 11639
      11939 12219 12481 12725 12952 13163 13359 13540 13708 13863 14005 14136 14256 14366 14466
      14557 14640 14715
      14783 14844 14899 14948 14992 15031 15066 15097 15125 15149 15171 15190 15207 15222 15235
      15247 15258 15268
      15277 15286 15294 15302 15310 15318 15326 15334))))
