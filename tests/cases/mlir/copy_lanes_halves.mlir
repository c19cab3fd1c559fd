// Copies rows of a table in lanes: the access unit stores, and the execute unit doubles. Lanes end below a stream.
func.func @lanes(%table: memref<?xf32>, %out: memref<?xf32>, %twice: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %table, %c0 : memref<?xf32>
  %lo = slc.to_stream %c0 : index to !slc.stream<index>
  %hi = slc.to_stream %n : index to !slc.stream<index>
  %step = slc.to_stream %c8 : index to !slc.stream<index>
  dlc.configure_access_engine {
    %u = dlc.new_tu %lo to %hi step %step {place = 0 : i64} : !slc.stream<index> into !dlc.tu
    %i = dlc.get_ind_var %u : !slc.stream<index>
    %x = "dae.mem_stream"(%table, %i, %hi) {limited = true} : (memref<?xf32>, !slc.stream<index>, !slc.stream<index>) -> !slc.stream<vector<8xf32>>
    dlc.register_callback %u, ite {id = 1 : i64} : !dlc.tu
    dlc.register_operand %u, ite, %i : !dlc.tu, !slc.stream<index>
    dlc.register_operand %u, ite, %x : !dlc.tu, !slc.stream<vector<8xf32>>
    "dae.store"(%x, %out, %i, %hi) {in = 0 : i64, event = "ite", limited = true} : (!slc.stream<vector<8xf32>>, memref<?xf32>, !slc.stream<index>, !slc.stream<index>) -> ()
  } :
  dlc.compute_loop
  case 1 {
    %j = dlc.pop_operand : index
    %y = dlc.pop_operand : vector<8xf32>
    %s = arith.addf %y, %y : vector<8xf32>
    %mask = slcvec.mask %j %c0 %n %c1 : vector<8xi1>
    vector.maskedstore %twice[%j], %mask, %s : memref<?xf32>, vector<8xi1>, vector<8xf32>
    dlc.yield
  }
  return
}
