// Two carried values that change places, and a returned number.
func.func @fibonacci(%n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %one) -> (i64, i64) {
    %z = arith.addi %x, %y : i64
    scf.yield %y, %z : i64, i64
  }
  return %0#0 : i64
}
