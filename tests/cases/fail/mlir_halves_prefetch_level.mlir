func.func @bag(%offsets: memref<?xindex>, %table: memref<?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %table, %c0 : memref<?xf32>
  %lo = slc.to_stream %c0 : index to !slc.stream<index>
  %hi = slc.to_stream %n : index to !slc.stream<index>
  %step = slc.to_stream %c1 : index to !slc.stream<index>
  dlc.configure_access_engine {
    %u = dlc.new_tu %lo to %hi step %step {place = 0 : i64} : !slc.stream<index> into !dlc.tu
    %i = dlc.get_ind_var %u : !slc.stream<index>
    %x = slc.mem_stream %table[%i] : memref<?xf32>[!slc.stream<index>] into !slc.stream<f32>
    dlc.register_callback %u, ite {id = 1 : i64} : !dlc.tu
    dlc.register_operand %u, ite, %i : !dlc.tu, !slc.stream<index>
    dlc.register_operand %u, ite, %x : !dlc.tu, !slc.stream<f32>
  } :
  %at = memref.alloca() : memref<index>
  %sum = memref.alloca() : memref<f32>
  dlc.compute_loop
  case 1 {
    %j = dlc.pop_operand : index
    memref.store %j, %at[] : memref<index>
    %y = dlc.pop_operand : f32
    memref.store %y, %out[%j] : memref<?xf32>
    "dae.prefetch"(%out, %j) {level = "l9"} : (memref<?xf32>, index) -> ()
    dlc.yield
  }
  return
}
