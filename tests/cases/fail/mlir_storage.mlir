func.func @k(%h: memref<?xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %h[%c0] : memref<?xf16>
  %y = arith.addf %x, %x : f16
  return
}
