func.func @f12(%x: memref<?x8xf32>, %r.1: memref<?xf32>, %r.3: memref<?xf32>, %r: memref<?x8xf32>) {
  %0 = arith.constant 0 : index
  %1 = memref.dim %x, %0 : memref<?x8xf32>
  %r.2.part = memref.alloc() : memref<8xf32>
  %4 = arith.constant 8 : index
  %6 = arith.constant 1 : index
  %18 = arith.constant dense<0.0> : vector<16xf32>
  %20 = arith.constant 0xFF800000 : f32
  %37 = arith.constant 0.0 : f32
  %2 = slc.to_stream %0 : index to !slc.stream<index>
  %3 = slc.to_stream %1 : index to !slc.stream<index>
  %5 = slc.to_stream %4 : index to !slc.stream<index>
  %7 = slc.to_stream %6 : index to !slc.stream<index>
  %8 = slc.to_stream %6 : index to !slc.stream<index>
  dlc.configure_access_engine {
    %9 = dlc.new_tu %2 to %3 step %7 {place = 1 : i64} : !slc.stream<index> into !dlc.tu
    %10 = dlc.new_tu %2 to %5 step %8 {in = 0 : i64, event = "ite", place = 1 : i64} : !slc.stream<index> into !dlc.tu
    %11 = dlc.get_ind_var %9 : !slc.stream<index>
    %12 = dlc.get_ind_var %10 : !slc.stream<index>
    %13 = slc.mem_stream %x[%11, %12] {hint = "temporal-l2"} : memref<?x8xf32>[!slc.stream<index>, !slc.stream<index>] into !slc.stream<f32>
    %14 = slcvec.mem_stream %x[%11, %2] {hint = "temporal-l2", limit = 8 : i64} : memref<?x8xf32>[!slc.stream<index>, !slc.stream<index>] into !slc.stream<vector<16xf32>> // lanes below %5
    "dae.prefetch"(%14) {in = 0 : i64, event = "ite"} : (!slc.stream<vector<16xf32>>) -> ()
    "dae.prefetch"(%13) {in = 1 : i64, event = "ite"} : (!slc.stream<f32>) -> ()
    "dae.callback"() {id = 1 : i64} : () -> ()
  } :
  %reg_t = memref.alloca() : memref<index>
  %reg_t_2 = memref.alloca() : memref<index>
  %reg_x = memref.alloca() : memref<f32>
  %reg_acc = memref.alloca() : memref<f32>
  %reg_x_2 = memref.alloca() : memref<vector<16xf32>>
  %reg_t_3 = memref.alloca() : memref<index>
  %reg_acc_2 = memref.alloca() : memref<f32>
  dlc.compute_loop
  case 1 {
    scf.for %15 = %0 to %1 step %6 {
      memref.store %15, %reg_t[] : memref<index>
      %16 = memref.load %reg_t[] : memref<index>
      %17 = slcvec.mask %0 %0 %4 %6 : vector<16xi1>
      %19 = vector.maskedload %x[%16, %0], %17, %18 : memref<?x8xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
      memref.store %19, %reg_x_2[] : memref<vector<16xf32>>
      memref.store %20, %reg_acc[] : memref<f32>
      scf.for %21 = %0 to %4 step %6 {
        memref.store %21, %reg_t_2[] : memref<index>
        %22 = memref.load %reg_t[] : memref<index>
        %23 = memref.load %reg_t_2[] : memref<index>
        %24 = memref.load %x[%22, %23] : memref<?x8xf32>
        memref.store %24, %reg_x[] : memref<f32>
        %25 = memref.load %reg_acc[] : memref<f32>
        %26 = memref.load %reg_x[] : memref<f32>
        %27 = arith.maximumf %25, %26 : f32
        memref.store %27, %reg_acc[] : memref<f32>
      } {tu = 1 : i64}
      %28 = memref.load %reg_acc[] : memref<f32>
      %29 = memref.load %reg_t[] : memref<index>
      memref.store %28, %r.1[%29] : memref<?xf32>
      %30 = memref.load %reg_x_2[] : memref<vector<16xf32>>
      %31 = memref.load %reg_t[] : memref<index>
      %32 = memref.load %r.1[%31] : memref<?xf32>
      %33 = vector.broadcast %32 : f32 to vector<16xf32>
      %34 = arith.subf %30, %33 : vector<16xf32>
      %35 = math.exp %34 : vector<16xf32>
      %36 = slcvec.mask %0 %0 %4 %6 : vector<16xi1>
      vector.maskedstore %r.2.part[%0], %36, %35 : memref<8xf32>, vector<16xi1>, vector<16xf32>
      memref.store %37, %reg_acc_2[] : memref<f32>
      scf.for %38 = %0 to %4 step %6 {
        memref.store %38, %reg_t_3[] : memref<index>
        %39 = memref.load %reg_acc_2[] : memref<f32>
        %40 = memref.load %reg_t_3[] : memref<index>
        %41 = memref.load %r.2.part[%40] : memref<8xf32>
        %42 = arith.addf %39, %41 : f32
        memref.store %42, %reg_acc_2[] : memref<f32>
      }
      %43 = memref.load %reg_acc_2[] : memref<f32>
      %44 = memref.load %reg_t[] : memref<index>
      memref.store %43, %r.3[%44] : memref<?xf32>
      %45 = slcvec.mask %0 %0 %4 %6 : vector<16xi1>
      %46 = vector.maskedload %r.2.part[%0], %45, %18 : memref<8xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
      %47 = memref.load %reg_t[] : memref<index>
      %48 = memref.load %r.3[%47] : memref<?xf32>
      %49 = vector.broadcast %48 : f32 to vector<16xf32>
      %50 = arith.divf %46, %49 : vector<16xf32>
      %51 = memref.load %reg_t[] : memref<index>
      %52 = slcvec.mask %0 %0 %4 %6 : vector<16xi1>
      vector.maskedstore %r[%51, %0], %52, %50 : memref<?x8xf32>, vector<16xi1>, vector<16xf32>
    } {tu = 0 : i64}
    dlc.yield
  }
  return
}
