func.func @k(%o: memref<?xf32>) {
  %bit = arith.constant 7 : i1
  return
}
