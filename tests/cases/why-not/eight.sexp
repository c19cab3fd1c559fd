(half 8)
