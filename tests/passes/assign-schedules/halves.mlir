// RUN: attndsl opt %s --passes assign-schedules{machine="cuda:90"}

// Of f32 numbers that are multiplied in halves both are kept: 64 rows of 256 leave no room for two tiles of 64 keys, and
// 128 rows do not fit. Two warp groups would share the 64 rows, so there is one.
// CHECK-LABEL: tile.kernel @k schedules
// CHECK-SAME: {ROWS = 64 : index, KEYS = 32 : index, num_warps = 4 : index, num_stages = 2 : index}]
spec.tensor @q0 "input" "f32" ["M", "256"]
spec.tensor @k0 "input" "f32" ["N", "256"]
spec.tensor @o "output" "f32" ["M", "256"]
tile.kernel @k {
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS"
  %zero = arith.constant 0 : index
  %D0 = arith.constant 256 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %ROWS
  %i = tile.range "i" from %i0 to %M size %ROWS
  %d0 = tile.range "d0" from %zero to %D0 size %D0
  %q0 = tile.load @q0[%i, %d0] : f32
  %start = tile.broadcast %none over (%i, %d0) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %KEYS iter_args(%so_far = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %KEYS
    %k0 = tile.load @k0[%j, %d0] : f32
    %s0 = tile.dot %q0, %k0 over %d0 rounded to "tf32x3" : f32
    %p = math.exp2 %s0 : f32
    %part = tile.dot %p, %k0 over %j rounded to "tf32x3" : f32
    %next = arith.addf %so_far, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%i, %d0] = %sum : f32
}
