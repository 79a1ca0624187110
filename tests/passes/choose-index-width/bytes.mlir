// RUN: attndsl opt %s --passes choose-index-width
// What memory holds in 8 bits is computed in the index width, and its bound stands with the others.

spec.tensor @x "input" "u8" ["M"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: tile.kernel @k bounds [[255 : index], [1 : index, "M"]] {
// CHECK:         tile.narrow %i, %i_in, %x : index, i1, index
tile.kernel @k {
  %rows = arith.constant 16 : index
  %M = spec.dim "M"
  %i0 = tile.program "i" to %M step %rows
  %i_end = arith.addi %i0, %rows : index
  %i = tile.range "i" from %i0 to %i_end size %rows
  %i_in = arith.cmpi slt, %i, %M : index
  %x = tile.load @x[%i] where %i_in : index
  %v = spec.to_float %x : f32
  tile.store @o[%i] = %v where %i_in : f32
}
