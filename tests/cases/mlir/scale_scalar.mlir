func.func @scale(%a: memref<64xf32>, %o: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %two = arith.constant 2.0 : f32
  scf.for %v = %c0 to %c64 step %c1 {
    %x = memref.load %a[%v] : memref<64xf32>
    %y = arith.mulf %x, %two : f32
    memref.store %y, %o[%v] : memref<64xf32>
  }
  return
}
