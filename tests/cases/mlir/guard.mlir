// A branch that gives a value, which one side loads.
func.func @shift(%a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %o, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %inside = arith.cmpi sgt, %i, %c0 : index
    %v = scf.if %inside -> (f32) {
      %j = arith.subi %i, %c1 : index
      %x = memref.load %a[%j] : memref<?xf32>
      scf.yield %x : f32
    } else {
      scf.yield %zero : f32
    }
    memref.store %v, %o[%i] : memref<?xf32>
  }
  return
}
