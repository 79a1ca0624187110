// RUN: attndsl opt %s --passes stream-products{halves=64}

// A kernel that reads f16 as f32 widens it by loops, and one that reads f32 has nothing to widen.

spec.tensor @x "input" "f16" ["N"]
spec.tensor @y "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["N"]
spec.tensor @p "output" "f32" ["N"]
tile.kernel @halves {
  %rows = arith.constant 8 : index
  %N = spec.dim "N"
  %i0 = tile.program "i" to %N step %rows
  %i = tile.range "i" from %i0 to %N size %rows
  %x = tile.load @x[%i] : f32
  tile.store @o[%i] = %x : f32
}
tile.kernel @wholes {
  %rows = arith.constant 8 : index
  %N = spec.dim "N"
  %i0 = tile.program "i" to %N step %rows
  %i = tile.range "i" from %i0 to %N size %rows
  %y = tile.load @y[%i] : f32
  tile.store @p[%i] = %y : f32
}

// CHECK: tile.kernel @halves widened by loops from 64 {
// CHECK: tile.kernel @wholes {
