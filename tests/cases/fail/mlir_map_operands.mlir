func.func @k(%a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%c0)
  return
}
