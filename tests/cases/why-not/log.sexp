(log x)
