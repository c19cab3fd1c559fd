func.func @k() {
  %c0 = "arith.constant
