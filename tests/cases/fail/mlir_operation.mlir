func.func @k(%a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = memref.subview %a[0] [4] [1] : memref<?xf32> to memref<4xf32>
  return
}
