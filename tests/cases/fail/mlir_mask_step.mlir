// A mask of every second lane.
func.func @k(%a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %n = memref.dim %a, %c0 : memref<?xf32>
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c8 {
    %m = slcvec.mask %i %c0 %n %c2 : vector<8xi1>
  }
  return
}
