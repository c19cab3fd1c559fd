// A gather whose rows are asked for ahead of their use.
func.func @gather(%table: memref<?x24xf32>, %indices: memref<?xindex>, %out: memref<?x24xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  %n = memref.dim %indices, %c0 : memref<?xindex>
  %last = arith.subi %n, %c1 : index
  scf.for %i = %c0 to %n step %c1 {
    %ahead = arith.addi %i, %c8 : index
    %later = arith.minsi %ahead, %last : index
    %then = memref.load %indices[%later] : memref<?xindex>
    memref.prefetch %table[%then, %c0], read, locality<2>, data : memref<?x24xf32>
    %at = memref.load %indices[%i] : memref<?xindex>
    scf.for %j = %c0 to %c24 step %c1 {
      %x = memref.load %table[%at, %j] : memref<?x24xf32>
      memref.store %x, %out[%i, %j] : memref<?x24xf32>
    }
  }
  return
}
