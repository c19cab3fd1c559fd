// The sum is in the element of the result.
func.func @matvec(%a: memref<?x?xf32>, %x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %y[%i] : memref<?xf32>
    scf.for %j = %c0 to %m step %c1 {
      %s = memref.load %y[%i] : memref<?xf32>
      %p = memref.load %a[%i, %j] : memref<?x?xf32>
      %q = memref.load %x[%j] : memref<?xf32>
      %pq = arith.mulf %p, %q : f32
      %next = arith.addf %s, %pq : f32
      memref.store %next, %y[%i] : memref<?xf32>
    }
  }
  return
}
