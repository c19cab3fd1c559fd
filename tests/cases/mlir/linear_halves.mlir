func.func @linear(%x: memref<?x1024xf32>, %w: memref<1024x1024xf32>, %y: memref<?x1024xf32>) {
  %0 = arith.constant 0 : index
  %1 = memref.dim %x, %0 : memref<?x1024xf32>
  %3 = arith.constant 1024 : index
  %5 = arith.constant 32 : index
  %8 = arith.constant 1 : index
  %10 = arith.constant 128 : index
  %33 = arith.constant 256 : index
  %36 = arith.constant 0.0 : f32
  %2 = slc.to_stream %0 : index to !slc.stream<index>
  %4 = slc.to_stream %3 : index to !slc.stream<index>
  %6 = slc.to_stream %5 : index to !slc.stream<index>
  %7 = slc.to_stream %5 : index to !slc.stream<index>
  %9 = slc.to_stream %8 : index to !slc.stream<index>
  %11 = slc.to_stream %10 : index to !slc.stream<index>
  dlc.configure_access_engine {
    %12 = dlc.new_tu %2 to %4 step %7 {place = 1 : i64} : !slc.stream<index> into !dlc.tu
    %13 = dlc.get_ind_var %12 : !slc.stream<index>
    %14 = slc.alu_stream< add> %13, %6 : !slc.stream<index>, !slc.stream<index> -> !slc.stream<index>
    %15 = slc.alu_stream< min> %14, %4 : !slc.stream<index>, !slc.stream<index> -> !slc.stream<index>
    %16 = dlc.new_tu %13 to %15 step %9 {in = 0 : i64, event = "ite", place = 0 : i64} : !slc.stream<index> into !dlc.tu
    %17 = dlc.new_tu %2 to %4 step %11 {in = 1 : i64, event = "ite", place = 0 : i64} : !slc.stream<index> into !dlc.tu
    %18 = dlc.get_ind_var %16 : !slc.stream<index>
    %19 = dlc.get_ind_var %17 : !slc.stream<index>
    %20 = slcvec.mem_stream %w[%18, %19] {hint = "temporal-l2"} : memref<1024x1024xf32>[!slc.stream<index>, !slc.stream<index>] into !slc.stream<vector<128xf32>> // lanes below %4
    dlc.register_callback %12,  ite {id = 1 : i64} : !dlc.tu
    dlc.register_operand %12,  ite, %13 : !dlc.tu, !slc.stream<index>
    "dae.prefetch"(%20) {in = 2 : i64, event = "ite"} : (!slc.stream<vector<128xf32>>) -> ()
    "dae.callback"() {id = 2 : i64} : () -> ()
  } :
  %reg_to = memref.alloca() : memref<index>
  %reg_t = memref.alloca() : memref<index>
  %reg_t_2 = memref.alloca() : memref<index>
  %reg_t_3 = memref.alloca() : memref<index>
  dlc.compute_loop
  case 1 {
    %21 = dlc.pop_operand : index
    memref.store %21, %reg_t_3[] : memref<index>
    scf.for %22 = %0 to %1 step %5 {
      memref.store %22, %reg_t_2[] : memref<index>
      %23 = memref.load %reg_t_2[] : memref<index>
      %24 = slcvec.mask %23 %0 %1 %8 : vector<32xi1>
      %25 = slcvec.mask %0 %0 %3 %8 : vector<1024xi1>
      %26 = memref.load %reg_t_2[] : memref<index>
      %27 = memref.load %reg_t_3[] : memref<index>
      %28 = slcvec.mask %26 %0 %1 %8 : vector<32xi1>
      %29 = slcvec.mask %27 %0 %3 %8 : vector<32xi1>
      %30 = memref.load %reg_t_3[] : memref<index>
      %31 = slcvec.mask %30 %0 %3 %8 : vector<32xi1>
      %32 = slcvec.mask %0 %0 %3 %8 : vector<1024xi1>
      "dae.matmul"(%y, %23, %24, %0, %25, %x, %26, %28, %27, %29, %w, %30, %31, %0, %32) {adds = true} : (memref<?x1024xf32>, index, vector<32xi1>, index, vector<1024xi1>, memref<?x1024xf32>, index, vector<32xi1>, index, vector<32xi1>, memref<1024x1024xf32>, index, vector<32xi1>, index, vector<1024xi1>) -> ()
    }
    dlc.yield
  }
  case 2 {
    scf.for %34 = %0 to %3 step %33 {
      memref.store %34, %reg_to[] : memref<index>
      scf.for %35 = %0 to %1 step %8 {
        memref.store %35, %reg_t[] : memref<index>
        %37 = vector.broadcast %36 : f32 to vector<256xf32>
        %38 = memref.load %reg_t[] : memref<index>
        %39 = memref.load %reg_to[] : memref<index>
        %40 = slcvec.mask %39 %0 %3 %8 : vector<256xi1>
        vector.maskedstore %y[%38, %39], %40, %37 : memref<?x1024xf32>, vector<256xi1>, vector<256xf32>
      }
    }
    dlc.yield
  }
  return
}
