// A product by maps that are not its own.
func.func @k(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %o: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<?x?xf32>)
  linalg.batch_matmul indexing_maps = [affine_map<(a, b) -> (a)>] ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%o : memref<?x?xf32>)
  return
}
