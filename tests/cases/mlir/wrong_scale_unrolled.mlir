// The same without the last element.
func.func @scale(%alpha: f32, %a: memref<?xf32>, %o: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %half = arith.divsi %n, %c2 : index
  %whole = arith.muli %half, %c2 : index
  scf.for %i = %c0 to %whole step %c2 {
    %x = memref.load %a[%i] : memref<?xf32>
    %y = arith.mulf %alpha, %x : f32
    memref.store %y, %o[%i] : memref<?xf32>
    %j = arith.addi %i, %c1 : index
    %z = memref.load %a[%j] : memref<?xf32>
    %w = arith.mulf %alpha, %z : f32
    memref.store %w, %o[%j] : memref<?xf32>
  }
  return
}
