func.func @linear(%x: memref<?x1024xf32>, %w: memref<1024x1024xf32>, %y: memref<?x1024xf32>) {
  %0 = arith.constant 0 : index
  %1 = memref.dim %x, %0 : memref<?x1024xf32>
  %4 = arith.constant 1024 : index
  %6 = arith.constant 32 : index
  %8 = arith.constant 16 : index
  %13 = arith.constant 1 : index
  %25 = arith.constant 256 : index
  %32 = arith.constant 0.0 : f32
  %2 = slc.to_stream %0 : index to !slc.stream<index>
  %3 = slc.to_stream %1 : index to !slc.stream<index>
  %5 = slc.to_stream %4 : index to !slc.stream<index>
  %7 = slc.to_stream %6 : index to !slc.stream<index>
  %9 = slc.to_stream %8 : index to !slc.stream<index>
  dlc.configure_access_engine {
    %10 = dlc.new_tu %2 to %3 step %7 {place = 0 : i64} : !slc.stream<index> into !dlc.tu
    %11 = dlc.new_tu %2 to %5 step %9 {in = 0 : i64, event = "ite", place = 1 : i64} : !slc.stream<index> into !dlc.tu
    dlc.register_callback %10,  ite {id = 2 : i64} : !dlc.tu
    dlc.register_callback %10,  ite {id = 3 : i64} : !dlc.tu
    dlc.register_callback %11,  ite {id = 1 : i64} : !dlc.tu
  } :
  %reg_to = memref.alloca() : memref<index>
  %reg_count_t = memref.alloca() : memref<index>
  %reg_t = memref.alloca() : memref<index>
  %reg_count_t_2 = memref.alloca() : memref<index>
  memref.store %0, %reg_count_t[] : memref<index>
  dlc.compute_loop
  case 1 {
    %12 = memref.load %reg_count_t[] : memref<index>
    %14 = slcvec.mask %12 %0 %1 %13 : vector<32xi1>
    %15 = slcvec.mask %0 %0 %4 %13 : vector<1024xi1>
    %16 = memref.load %reg_count_t[] : memref<index>
    %17 = memref.load %reg_count_t_2[] : memref<index>
    %18 = slcvec.mask %16 %0 %1 %13 : vector<32xi1>
    %19 = slcvec.mask %17 %0 %4 %13 : vector<16xi1>
    %20 = memref.load %reg_count_t_2[] : memref<index>
    %21 = slcvec.mask %20 %0 %4 %13 : vector<16xi1>
    %22 = slcvec.mask %0 %0 %4 %13 : vector<1024xi1>
    "dae.matmul"(%y, %12, %14, %0, %15, %x, %16, %18, %17, %19, %w, %20, %21, %0, %22) {adds = true} : (memref<?x1024xf32>, index, vector<32xi1>, index, vector<1024xi1>, memref<?x1024xf32>, index, vector<32xi1>, index, vector<16xi1>, memref<1024x1024xf32>, index, vector<16xi1>, index, vector<1024xi1>) -> ()
    %23 = memref.load %reg_count_t_2[] : memref<index>
    %24 = arith.addi %23, %8 : index
    memref.store %24, %reg_count_t_2[] : memref<index>
    dlc.yield
  }
  case 2 {
    scf.for %26 = %0 to %4 step %25 {
      memref.store %26, %reg_to[] : memref<index>
      %27 = memref.load %reg_count_t[] : memref<index>
      %28 = memref.load %reg_count_t[] : memref<index>
      %29 = arith.addi %28, %6 : index
      %30 = arith.minsi %29, %1 : index
      scf.for %31 = %27 to %30 step %13 {
        memref.store %31, %reg_t[] : memref<index>
        %33 = vector.broadcast %32 : f32 to vector<256xf32>
        %34 = memref.load %reg_t[] : memref<index>
        %35 = memref.load %reg_to[] : memref<index>
        %36 = slcvec.mask %35 %0 %4 %13 : vector<256xi1>
        vector.maskedstore %y[%34, %35], %36, %33 : memref<?x1024xf32>, vector<256xi1>, vector<256xf32>
      }
    }
    memref.store %0, %reg_count_t_2[] : memref<index>
    dlc.yield
  }
  case 3 {
    %37 = memref.load %reg_count_t[] : memref<index>
    %38 = arith.addi %37, %6 : index
    memref.store %38, %reg_count_t[] : memref<index>
    dlc.yield
  }
  return
}
