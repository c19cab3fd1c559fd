// Numbers as a mask.
func.func @k(%a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c8 {
    %m = arith.constant dense<true> : vector<8xi1>
    %x = vector.maskedload %a[%i], %m, %zero : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  }
  return
}
