func.func @k(%a: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x:2 = scf.for %i = %c0 to %c1 step %c1 iter_args(%p = %c0, %q = %c1) -> (index, index) {
    scf.yield %q, %p : index, index
  }
  %y = arith.addi %x#0, %x#2 : index
  return
}
