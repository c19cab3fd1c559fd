#inside = affine_set<(d0) : (d0 - 1 >= 0)>
func.func @shift(%a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %o, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    affine.if #inside(%i) {
      %x = affine.load %a[%i - 1] : memref<?xf32>
      affine.store %x, %o[%i] : memref<?xf32>
    } else {
      affine.store %zero, %o[%i] : memref<?xf32>
    }
  }
  return
}
