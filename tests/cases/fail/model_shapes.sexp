(model m (input x f32 (n 4)) (input y f32 (n 5)) (input b f32 (5)) (input c f32 (n 2 3))
  (output p (nn.add x y)) (output q (nn.bias x b)) (output r (nn.row_sum b))
  (output s (nn.sub_rows x b)) (output t (nn.triangle c)) (output u (nn.scale half x))
  (output v (nn.div_rows c x)))
