// RUN: attndsl opt %s --passes assign-schedules{machine="cuda:90"}

// Weights and their gradients are there at once: two numbers of each pair beside the sums. Of 128 features @both, which
// sums two things, has registers for 32 keys, with which two programs run side by side and a turn makes four products;
// @one has them for 64, but memory for two stages only, so that more rows with three are better.

// CHECK-LABEL: tile.kernel @both schedules
// CHECK-SAME: {ROWS = 64 : index, KEYS = 32 : index, num_warps = 4 : index, num_stages = 3 : index}]
// CHECK-LABEL: tile.kernel @one schedules
// CHECK-SAME: {ROWS = 64 : index, KEYS = 64 : index, num_warps = 4 : index, num_stages = 2 : index},
// CHECK-SAME: {ROWS = 128 : index, KEYS = 64 : index, num_warps = 8 : index, num_stages = 3 : index}]
spec.tensor @q "input" "bf16" ["M", "128"]
spec.tensor @g "input" "bf16" ["M", "128"]
spec.tensor @k "input" "bf16" ["N", "128"]
spec.tensor @v "input" "bf16" ["N", "128"]
spec.tensor @a "output" "f32" ["M", "128"]
spec.tensor @b "output" "f32" ["M", "128"]
spec.tensor @c "output" "f32" ["M", "128"]
tile.kernel @both {
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS"
  %zero = arith.constant 0 : index
  %D = arith.constant 128 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %ROWS
  %i = tile.range "i" from %i0 to %M size %ROWS
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %g = tile.load @g[%i, %d] : f32
  %start = tile.broadcast %none over (%i, %d) : f32 to f32
  %x, %y = tile.loop %j0 = %zero to %N step %KEYS iter_args(%x0 = %start, %y0 = %start) -> (f32, f32) {
    %j = tile.range "j" from %j0 to %N size %KEYS
    %k = tile.load @k[%j, %d] : f32
    %s = tile.dot %q, %k over %d rounded to "bf16" : f32
    %p = math.exp2 %s : f32
    %v = tile.load @v[%j, %d] : f32
    %dp = tile.dot %g, %v over %d rounded to "bf16" : f32
    %ds = arith.mulf %p, %dp : f32
    %dx = tile.dot %ds, %k over %j rounded to "bf16" : f32
    %dy = tile.dot %p, %v over %j rounded to "bf16" : f32
    %x1 = arith.addf %x0, %dx : f32
    %y1 = arith.addf %y0, %dy : f32
    tile.yield %x1, %y1 : f32, f32
  }
  tile.store @a[%i, %d] = %x : f32
  tile.store @b[%i, %d] = %y : f32
}
tile.kernel @one {
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS"
  %zero = arith.constant 0 : index
  %D = arith.constant 128 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %ROWS
  %i = tile.range "i" from %i0 to %M size %ROWS
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %g = tile.load @g[%i, %d] : f32
  %start = tile.broadcast %none over (%i, %d) : f32 to f32
  %x = tile.loop %j0 = %zero to %N step %KEYS iter_args(%x0 = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %KEYS
    %k = tile.load @k[%j, %d] : f32
    %s = tile.dot %q, %k over %d rounded to "bf16" : f32
    %p = math.exp2 %s : f32
    %v = tile.load @v[%j, %d] : f32
    %dp = tile.dot %g, %v over %d rounded to "bf16" : f32
    %ds = arith.mulf %p, %dp : f32
    %dx = tile.dot %ds, %k over %j rounded to "bf16" : f32
    %x1 = arith.addf %x0, %dx : f32
    tile.yield %x1 : f32
  }
  tile.store @c[%i, %d] = %x : f32
}
