func.func @k() {
^bb0:
  %c0 = arith.constant 0 : index
^bb1:
  return
}
