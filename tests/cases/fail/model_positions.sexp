(model m (input x f32 (n 4)) (input i i64 (k)) (input p i32 (2 2)) (input o i64 (n+1))
  (let j (nn.add i i))
  (output a (emb.gather x j)) (output b (emb.gather x (nn.add i i)))
  (output c (emb.gather x x)) (output d (emb.gather x p)) (output e (emb.bag sum x p i)))
