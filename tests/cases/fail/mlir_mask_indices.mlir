// A run in memory of two dimensions with one index.
func.func @k(%a: memref<?x?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  scf.for %i = %c0 to %n step %c8 {
    %rest = arith.subi %n, %i : index
    %m = vector.create_mask %rest : vector<8xi1>
    %x = vector.maskedload %a[%i], %m, %zero : memref<?x?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  }
  return
}
