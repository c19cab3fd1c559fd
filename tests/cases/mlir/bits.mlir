// Truth values as numbers of one bit, whose only bit is the sign.
func.func @bits(%a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %ones = arith.constant -1 : i1
  %one = arith.constant 1 : i1
  %none = arith.constant 0 : i1
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %positive = arith.cmpf ogt, %x, %zero : f32
    %not = arith.xori %positive, %ones : i1
    %again = arith.xori %not, %one : i1
    %either = arith.ori %again, %none : i1
    %y = arith.select %either, %x, %zero : f32
    memref.store %y, %o[%i] : memref<?xf32>
  }
  return
}
