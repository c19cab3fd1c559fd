func.func @k() {
  "func.return"() : () -> ()
  %c0 = arith.constant 0 : index
}
