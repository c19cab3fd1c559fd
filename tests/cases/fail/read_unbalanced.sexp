(model m (input x f32 (a))
  (output out "abc
