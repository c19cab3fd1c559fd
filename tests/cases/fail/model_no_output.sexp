(model 7up (inputs table f32 (4)) input)
