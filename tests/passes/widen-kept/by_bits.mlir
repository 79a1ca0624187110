// RUN: attndsl opt %s --passes widen-kept

// What is read as bf16 and written as f16 is widened by its bits; what is written as f32 is not.

spec.tensor @x "input" "bf16" ["N"]
spec.tensor @o "output" "f16" ["N"]
spec.tensor @p "output" "f32" ["N"]
tile.kernel @rounds {
  %one = arith.constant 1 : index
  %N = spec.dim "N"
  %n = tile.program "n" to %N step %one
  %x = tile.load @x[%n] : f32
  tile.store @o[%n] = %x : f32
}
tile.kernel @widens {
  %one = arith.constant 1 : index
  %N = spec.dim "N"
  %n = tile.program "n" to %N step %one
  %x = tile.load @x[%n] : f32
  tile.store @p[%n] = %x : f32
}

// CHECK: tile.kernel @rounds widens by bits {
// CHECK: tile.kernel @widens {
