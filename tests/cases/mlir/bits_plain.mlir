// What `bits.mlir` computes, without numbers of one bit.
func.func @bits(%a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %positive = arith.cmpf ogt, %x, %zero : f32
    %y = arith.select %positive, %x, %zero : f32
    memref.store %y, %o[%i] : memref<?xf32>
  }
  return
}
