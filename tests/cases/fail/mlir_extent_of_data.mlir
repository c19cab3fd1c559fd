func.func @k(%p: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.load %p[%c0] : memref<?xindex>
  %m = memref.alloc(%n) : memref<?xf32>
  return
}
