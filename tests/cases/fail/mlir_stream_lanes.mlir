// Lanes of a stream that no loop masks.
func.func @k(%a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %n = memref.dim %a, %c0 : memref<?xf32>
  %s = slc.to_stream %c8 : index to !slc.stream<index>
  %x = slcvec.mem_stream %a[%s] : memref<?xf32>[!slc.stream<index>] into !slc.stream<vector<8xf32>>
  return
}
