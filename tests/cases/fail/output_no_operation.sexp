(model m (input table f32 (rows 4)) (output out table))
