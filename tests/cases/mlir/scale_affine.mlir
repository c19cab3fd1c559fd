// The same in strips of 16, by affine maps.
#end = affine_map<(d0)[s0] -> (d0 + 16, s0)>
func.func @scale(%alpha: f32, %a: memref<?xf32>, %o: memref<?xf32>, %n: index) {
  affine.for %t = 0 to %n step 16 {
    affine.for %i = affine_map<(d0) -> (d0)>(%t) to min #end(%t)[%n] {
      %x = affine.load %a[%i] : memref<?xf32>
      %y = arith.mulf %alpha, %x : f32
      affine.store %y, %o[%i] : memref<?xf32>
    }
  }
  return
}
