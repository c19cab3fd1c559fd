func.func @k(%a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = vector.load %a[%c0] : memref<?xf32>, vector<4xf32>
  %y = vector.reduction <add>, %x : vector<4xf32> into f32
  return
}
