// RUN: attndsl opt %s --passes assign-schedules{machine="cuda:90"}

// Columns are carried for each row, as features are; rows are covered, and what is walked as keys are.

spec.tensor @q "input" "f16" ["M", "D"]
spec.tensor @k "input" "f16" ["N", "D"]
spec.tensor @p "output" "f32" ["M", "N"]
tile.kernel @products {
  %rows = spec.choice "ROWS"
  %keys = spec.choice "KEYS"
  %columns = arith.constant 64 : index
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %j0 = tile.program columns "j" to %N step %columns
  %j = tile.range "j" from %j0 to %N size %columns
  %start = tile.broadcast %none over(%i, %j) : f32 to f32
  %s = tile.loop %d0 = %zero to %D step %keys iter_args(%a = %start) -> (f32) {
    %d = tile.range "d" from %d0 to %D size %keys
    %q = tile.load @q[%i, %d] : f32
    %k = tile.load @k[%j, %d] : f32
    %t = tile.dot %q, %k over %d precise rounded to "f16" : f32
    %b = arith.addf %a, %t : f32
    tile.yield %b : f32
  }
  tile.store @p[%i, %j] = %s : f32
}
// CHECK-LABEL: tile.kernel @products schedules
// CHECK-SAME: {ROWS = 16 : index, KEYS = 64 : index, num_warps = 4 : index, num_stages = 3 : index}
// CHECK-SAME: {ROWS = 64 : index, KEYS = 64 : index, num_warps = 4 : index, num_stages = 3 : index}]
// CHECK: tile.covers rows %i0 keys %D by %keys
