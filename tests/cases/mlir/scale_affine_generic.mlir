// The same with affine operations in the generic form.
"builtin.module"() ({
  "func.func"() <{function_type = (f32, memref<?xf32>, memref<?xf32>, index) -> (), sym_name = "scale"}> ({
  ^bb0(%arg0: f32, %arg1: memref<?xf32>, %arg2: memref<?xf32>, %arg3: index):
    "affine.for"(%arg3) <{lowerBoundMap = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 0, 1, 0>, step = 1 : index, upperBoundMap = affine_map<()[s0] -> (s0)>}> ({
    ^bb0(%arg4: index):
      %0 = "affine.load"(%arg1, %arg4) <{map = affine_map<(d0) -> (d0)>}> : (memref<?xf32>, index) -> f32
      %1 = "arith.mulf"(%arg0, %0) : (f32, f32) -> f32
      "affine.store"(%1, %arg2, %arg4) <{map = affine_map<(d0) -> (d0)>}> : (f32, memref<?xf32>, index) -> ()
      "affine.yield"() : () -> ()
    }) : (index) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
