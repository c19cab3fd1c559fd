// The same in the generic form.
"builtin.module"() ({
  "func.func"() <{function_type = (f32, memref<?xf32>, memref<?xf32>, index) -> (), sym_name = "scale"}> ({
  ^bb0(%arg0: f32, %arg1: memref<?xf32>, %arg2: memref<?xf32>, %arg3: index):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 1 : index}> : () -> index
    "scf.for"(%0, %arg3, %1) ({
    ^bb0(%arg4: index):
      %2 = "memref.load"(%arg1, %arg4) <{nontemporal = false}> : (memref<?xf32>, index) -> f32
      %3 = "arith.mulf"(%arg0, %2) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "memref.store"(%3, %arg2, %arg4) <{nontemporal = false}> : (f32, memref<?xf32>, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
