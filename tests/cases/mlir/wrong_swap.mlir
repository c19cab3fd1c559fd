func.func @swap(%a: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%c0] : memref<2xf32>
  memref.store %x, %a[%c1] : memref<2xf32>
  %y = memref.load %a[%c1] : memref<2xf32>
  memref.store %y, %a[%c0] : memref<2xf32>
  return
}
