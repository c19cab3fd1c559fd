func.func @narrow_positions(%x: memref<?x4xf32>, %i: memref<?xi32>, %o: memref<?xi32>, %r: memref<?x4xf32>) {
  %0 = arith.constant 0 : index
  %1 = memref.dim %r, %0 : memref<?x4xf32>
  %2 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %6 = arith.constant 0.0 : f32
  scf.for %3 = %0 to %1 step %2 {
    scf.for %5 = %0 to %4 step %2 {
      memref.store %6, %r[%3, %5] : memref<?x4xf32>
    }
    %7 = memref.load %o[%3] : memref<?xi32>
    %8 = arith.index_cast %7 : i32 to index
    %9 = arith.addi %3, %2 : index
    %10 = memref.load %o[%9] : memref<?xi32>
    %11 = arith.index_cast %10 : i32 to index
    scf.for %12 = %8 to %11 step %2 {
      scf.for %13 = %0 to %4 step %2 {
        %14 = memref.load %r[%3, %13] : memref<?x4xf32>
        %15 = memref.load %i[%12] : memref<?xi32>
        %16 = arith.index_cast %15 : i32 to index
        %17 = memref.load %x[%16, %13] : memref<?x4xf32>
        %18 = arith.addf %14, %17 : f32
        memref.store %18, %r[%3, %13] : memref<?x4xf32>
      }
    }
  }
  return
}
