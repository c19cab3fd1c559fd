(cos (sin x))
