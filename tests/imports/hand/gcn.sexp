; A graph convolution over sorted edges, written by hand.
(model gcn
  (input x          f32 (20 16))
  (input w          f32 (16 16))
  (input b          f32 (16))
  (input offsets    i64 (21))
  (input neighbours i64 (90))
  (input weights    f32 (90))
  (output out (nn.relu (emb.spmm (nn.bias (nn.matmul_t x w) b) neighbours offsets weights)))
  (data
    (x          (file "edges.safetensors"))
    (w          (file "edges.safetensors" "gcn.l.weight"))
    (b          (file "edges.safetensors" "gcn.l.bias"))
    (offsets    (file "edges.safetensors"))
    (neighbours (file "edges.safetensors"))
    (weights    (file "edges.safetensors"))))
