// RUN: attndsl opt %s --passes find-boxes{all=true}

// All that can be is a box where that is asked for, as fuzzing does; truth values, of which Triton counts no bytes, are
// in none.

spec.tensor @q "input" "bf16" ["M", "128"]
spec.tensor @w "input" "bf16" ["M", "128"]
spec.tensor @k "input" "bf16" ["N", "128"]
spec.tensor @seen "input" "bool" ["N", "M"]
spec.tensor @x "output" "f32" ["N", "128"]
// CHECK-LABEL: tile.kernel @three {
// CHECK-COUNT-3: load box
tile.kernel @three {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 128 : index
  %rows = spec.choice "ROWS"
  %keys = spec.choice "KEYS"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %j0 = tile.program "j" to %N step %rows
  %j = tile.range "j" from %j0 to %N size %rows
  %d = tile.range "d" from %zero to %size size %size
  %start = tile.broadcast %none over (%j, %d) : f32 to f32
  %k = tile.load @k[%j, %d] : f32
  %a = tile.loop %i0 = %zero to %M step %keys iter_args(%xs = %start) -> (f32) {
    %i = tile.range "i" from %i0 to %M size %keys
    %q = tile.load @q[%i, %d] : f32
    %w = tile.load @w[%i, %d] : f32
    %s = tile.dot %k, %q over %d rounded to "bf16" : f32
    %t = tile.dot %k, %w over %d rounded to "bf16" : f32
    %m = tile.load @seen[%j, %i] : i1
    %u = arith.mulf %s, %t : f32
    %e = arith.select %m, %u, %none : f32
    %dx = tile.dot %e, %q over %i rounded to "bf16" : f32
    %x1 = arith.addf %xs, %dx : f32
    tile.yield %x1 : f32
  }
  tile.store @x[%j, %d] = %a : f32
}
// CHECK-NOT: load box
// CHECK: }
