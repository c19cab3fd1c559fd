; The maximum over the neighbours, over sorted edges, written by hand.
(model max
  (input x          f32 (20 16))
  (input w          f32 (16 16))
  (input b          f32 (16))
  (input offsets    i64 (21))
  (input neighbours i64 (90))
  (let h (nn.relu (nn.bias (nn.matmul_t x w) b)))
  (output out (emb.bag max h neighbours offsets))
  (data
    (x          (file "edges.safetensors"))
    (w          (file "edges.safetensors" "max.l.weight"))
    (b          (file "edges.safetensors" "max.l.bias"))
    (offsets    (file "edges.safetensors"))
    (neighbours (file "edges.safetensors"))))
