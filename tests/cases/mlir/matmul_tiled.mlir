#end = affine_map<(d0)[s0] -> (d0 + 8, s0)>
func.func @matmul(%arg0: memref<?x?xf32>, %arg1: memref<?x?xf32>, %arg2: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %arg0, %c0 : memref<?x?xf32>
  %k = memref.dim %arg0, %c1 : memref<?x?xf32>
  %m = memref.dim %arg1, %c1 : memref<?x?xf32>
  affine.for %it = 0 to %n step 8 {
    affine.for %jt = 0 to %m step 8 {
      affine.for %pt = 0 to %k step 8 {
        affine.for %i = affine_map<(d0) -> (d0)>(%it) to min #end(%it)[%n] {
          affine.for %j = %jt to min #end(%jt)[%m] {
            affine.for %p = %pt to min #end(%pt)[%k] {
        %a = affine.load %arg0[%i, %p] : memref<?x?xf32>
        %b = affine.load %arg1[%p, %j] : memref<?x?xf32>
        %c = affine.load %arg2[%i, %j] : memref<?x?xf32>
        %x = arith.mulf %a, %b : f32
        %y = arith.addf %c, %x : f32
        affine.store %y, %arg2[%i, %j] : memref<?x?xf32>
            }
          }
        }
      }
    }
  }
  return
}
