// RUN: attndsl opt %s --passes assign-schedules{machine="cuda:80"}

// With four warps the addresses of 64 keys of 576 features would take 36 registers of a thread, those of 32 keys 18.
// CHECK-LABEL: tile.kernel @k schedules
// CHECK-SAME: [{ROWS = 16 : index, KEYS = 32 : index, num_warps = 4 : index, num_stages = 3 : index},
spec.tensor @q0 "input" "f16" ["M", "512"]
spec.tensor @k0 "input" "f16" ["N", "512"]
spec.tensor @q1 "input" "f16" ["M", "64"]
spec.tensor @k1 "input" "f16" ["N", "64"]
spec.tensor @o "output" "f32" ["M", "512"]
tile.kernel @k {
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS"
  %zero = arith.constant 0 : index
  %D0 = arith.constant 512 : index
  %D1 = arith.constant 64 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %ROWS
  %i = tile.range "i" from %i0 to %M size %ROWS
  %d0 = tile.range "d0" from %zero to %D0 size %D0
  %q0 = tile.load @q0[%i, %d0] : f32
  %d1 = tile.range "d1" from %zero to %D1 size %D1
  %q1 = tile.load @q1[%i, %d1] : f32
  %start = tile.broadcast %none over (%i, %d0) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %KEYS iter_args(%so_far = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %KEYS
    %k0 = tile.load @k0[%j, %d0] : f32
    %s0 = tile.dot %q0, %k0 over %d0 rounded to "bf16" : f32
    %k1 = tile.load @k1[%j, %d1] : f32
    %s1 = tile.dot %q1, %k1 over %d1 rounded to "bf16" : f32
    %s = arith.addf %s0, %s1 : f32
    %p = math.exp2 %s : f32
    %part = tile.dot %p, %k0 over %j rounded to "bf16" : f32
    %next = arith.addf %so_far, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%i, %d0] = %sum : f32
}
