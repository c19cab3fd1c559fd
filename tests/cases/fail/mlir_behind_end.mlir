func.func @k() {
  return
  %c0 = arith.constant 0 : index
}
