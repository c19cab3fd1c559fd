// The sum is what the loop carries.
func.func @matvec(%a: memref<?x?xf32>, %x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %sum = scf.for %j = %c0 to %m step %c1 iter_args(%s = %zero) -> (f32) {
      %p = memref.load %a[%i, %j] : memref<?x?xf32>
      %q = memref.load %x[%j] : memref<?xf32>
      %pq = arith.mulf %p, %q : f32
      %next = arith.addf %s, %pq : f32
      scf.yield %next : f32
    }
    memref.store %sum, %y[%i] : memref<?xf32>
  }
  return
}
