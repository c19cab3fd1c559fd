// Each element times a number.
func.func @scale(%alpha: f32, %a: memref<?xf32>, %o: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %y = arith.mulf %alpha, %x : f32
    memref.store %y, %o[%i] : memref<?xf32>
  }
  return
}
