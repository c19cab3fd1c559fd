(model dlrm (input table f32 (rows 24)) (input indices i64 (lookups)) (input offsets i64 ((+ bags 1))) (output out (emb.bag max table indices offsets)) (data (seed 1) (size rows 1000) (size bags 32) (table (uniform -1.0 1.0)) (offsets (ragged (mean 12) (empty 0.2))) (indices (zipf 1.05))))
(scf.for (var i 0 100 1) 0 100 1 (scf.store (at (out %out) (iv (var i 0 100 1))) (scf.reduce add (var j 0 10 1) 0 10 1 0.0 (scf.load (at (in %table) (iv (var j 0 10 1)))))))
"a text; with (what) is none" "and
  one of two lines" (:goal (f "x
y") z)
