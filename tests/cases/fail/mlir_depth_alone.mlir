// A part of the depth of a product belongs to some rows.
func.func @product(%a: memref<8x16xf32>, %b: memref<16x4xf32>, %c: memref<8x4xf32>) {
  %0 = arith.constant 0 : index
  %16 = arith.constant 16 : index
  "dae.matmul"(%c, %a, %b, %16, %0) {adds = true, deep = 16} : (memref<8x4xf32>, memref<8x16xf32>, memref<16x4xf32>, index, index) -> ()
  return
}
