// Row indices[l] of a table becomes row l of the output.
func.func @gather(%table: memref<?x24xf32>, %indices: memref<?xindex>, %out: memref<?x24xf32>) {
  %n = arith.constant 0 : index
  %lookups = memref.dim %indices, %n : memref<?xindex>
  affine.for %l = 0 to %lookups {
    %row = affine.load %indices[%l] : memref<?xindex>
    affine.for %e = 0 to 24 {
      %x = memref.load %table[%row, %e] : memref<?x24xf32>
      affine.store %x, %out[%l, %e] : memref<?x24xf32>
    }
  }
  return
}
