// Each element times a number, in strips of 8 lanes, the last of which may be masked.
func.func @scale(%alpha: f32, %a: memref<?xf32>, %o: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %all = vector.broadcast %alpha : f32 to vector<8xf32>
  scf.for %i = %c0 to %n step %c8 {
    %rest = arith.subi %n, %i : index
    %mask = vector.create_mask %rest : vector<8xi1>
    %x = vector.maskedload %a[%i], %mask, %zero : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    %y = arith.mulf %all, %x : vector<8xf32>
    vector.maskedstore %o[%i], %mask, %y : memref<?xf32>, vector<8xi1>, vector<8xf32>
  }
  return
}
