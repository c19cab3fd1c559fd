(model)
