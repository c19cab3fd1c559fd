// Eight elements at a time, of a length that eight divides.
func.func @scale(%a: memref<64xf32>, %o: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %two = arith.constant dense<2.0> : vector<8xf32>
  scf.for %v = %c0 to %c64 step %c8 {
    %x = vector.load %a[%v] : memref<64xf32>, vector<8xf32>
    %y = arith.mulf %x, %two : vector<8xf32>
    vector.store %y, %o[%v] : memref<64xf32>, vector<8xf32>
  }
  return
}
