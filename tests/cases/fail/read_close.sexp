(model m))
