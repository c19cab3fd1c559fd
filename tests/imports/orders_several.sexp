(model ends
  (input x f32 (rows 2))
  (input src i64 (edges))
  (input dst i64 (edges))
  (let from (emb.gather x src))
  (let to (emb.gather x dst))
  (output out (nn.sub from to))
  (arguments unordered
    (x (x))
    (src (src))
    (dst (dst))))
