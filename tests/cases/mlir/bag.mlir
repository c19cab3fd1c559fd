// An embedding bag: the sum of each bag's rows, in the memory of the result. Ember's public artifact has one of this
// structure (tests/eb_scf.mlir); this text is our own.
module {
  func.func @bag(%offsets: memref<?xindex>, %indices: memref<?xindex>, %sizes: !llvm.struct<(array<2 x i64>, array<3 x i64>)>, %table: memref<?x?xf64>, %out: memref<?x?xf64>) -> memref<?x?xf64> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = llvm.extractvalue %sizes[0, 0] : !llvm.struct<(array<2 x i64>, array<3 x i64>)>
    %bags = arith.index_cast %0 : i64 to index
    %width = memref.dim %table, %c1 : memref<?x?xf64>
    scf.for %b = %c0 to %bags step %c1 {
      %start = memref.load %offsets[%b] : memref<?xindex>
      %next = arith.addi %b, %c1 : index
      %end = memref.load %offsets[%next] : memref<?xindex>
      scf.for %l = %start to %end step %c1 {
        %row = memref.load %indices[%l] : memref<?xindex>
        scf.for %e = %c0 to %width step %c1 {
          %x = memref.load %table[%row, %e] : memref<?x?xf64>
          %sum = memref.load %out[%b, %e] : memref<?x?xf64>
          %more = arith.addf %sum, %x : f64
          memref.store %more, %out[%b, %e] : memref<?x?xf64>
        } {"Emitted from" = "linalg.generic"}
      } {"Emitted from" = "linalg.generic"}
    } {"Emitted from" = "linalg.generic"}
    return %out : memref<?x?xf64>
  }
}
