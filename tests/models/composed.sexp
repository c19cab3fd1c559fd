; Operations over each other, nested and by name.
(model composed
  (input t f32 (100 16))
  (input i i64 (l))
  (input f i64 ((+ b 1)))
  (let mean (emb.bag mean t i f))
  (let once (nn.exp (emb.bag max t i f)))
  (output gate (nn.sigmoid (nn.scale 2.0 (emb.bag sum t i f))))
  (output both (nn.add mean once))
  (output square (nn.mul mean mean))
  (output rest (nn.sub_rows mean (nn.row_max (nn.relu (emb.bag sum t i f)))))
  (output sums (nn.cast f64 (nn.scale -1.0 (nn.row_sum (emb.bag sum t i f)))))
  (data (size b 8) (f (ragged (mean 4) (empty 0.2))) (i (zipf 0)) (t (uniform 0 1))))
