; A GraphSAGE layer over sorted edges, written by hand.
(model sage
  (input x          f32 (20 16))
  (input w          f32 (16 16))
  (input b          f32 (16))
  (input r          f32 (16 16))
  (input offsets    i64 (21))
  (input neighbours i64 (90))
  (let mean (emb.bag mean x neighbours offsets))
  (output out (nn.relu (nn.add (nn.bias (nn.matmul_t mean w) b) (nn.matmul_t x r))))
  (data
    (x          (file "edges.safetensors"))
    (w          (file "edges.safetensors" "sage.l.weight"))
    (b          (file "edges.safetensors" "sage.l.bias"))
    (r          (file "edges.safetensors" "sage.r.weight"))
    (offsets    (file "edges.safetensors"))
    (neighbours (file "edges.safetensors"))))
