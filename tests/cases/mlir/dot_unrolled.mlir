// Two products in each iteration, added to the carried sum one after the other.
func.func @matvec(%a: memref<?x?xf32>, %x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  %half = arith.divsi %m, %c2 : index
  %whole = arith.muli %half, %c2 : index
  scf.for %i = %c0 to %n step %c1 {
    %most = scf.for %j = %c0 to %whole step %c2 iter_args(%s = %zero) -> (f32) {
      %p = memref.load %a[%i, %j] : memref<?x?xf32>
      %q = memref.load %x[%j] : memref<?xf32>
      %pq = arith.mulf %p, %q : f32
      %one = arith.addf %s, %pq : f32
      %k = arith.addi %j, %c1 : index
      %u = memref.load %a[%i, %k] : memref<?x?xf32>
      %v = memref.load %x[%k] : memref<?xf32>
      %uv = arith.mulf %u, %v : f32
      %two = arith.addf %one, %uv : f32
      scf.yield %two : f32
    }
    %sum = scf.for %j = %whole to %m step %c1 iter_args(%s = %most) -> (f32) {
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
