// The access unit counts to 8 rows, the execute unit to 4.
func.func @rows(%x: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %lo = slc.to_stream %c0 : index to !slc.stream<index>
  %hi = slc.to_stream %c8 : index to !slc.stream<index>
  slc.callback {
    "dae.walk"(%lo, %hi, %c1, %c0, %c4) ({
    ^bb0(%i: !slc.stream<index>):
      %s = slc.mem_stream %x[%i] : memref<8xf32>[!slc.stream<index>] into !slc.stream<f32>
      %v = slc.from_stream %s : !slc.stream<f32> to f32
      %n = slc.from_stream %i : !slc.stream<index> to index
      memref.store %v, %out[%n] : memref<8xf32>
      "dae.yield"() : () -> ()
    }) : (!slc.stream<index>, !slc.stream<index>, index, index, index) -> ()
  } : index
  return
}
