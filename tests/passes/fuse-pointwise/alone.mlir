// RUN: attndsl opt %s --passes fuse-pointwise{numbers=64}

// Rows lie first. The sum of a row would be a loop in which each number waits for the one before: it stays, and the
// exponential with it, as one pass is none less. In f64 nothing is fused.

spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @y "input" "f64" ["M", "N"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @p "output" "f64" ["M"]
tile.kernel @alone {
  %zero = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %l0 = tile.broadcast %none over (%i) : f32 to f32
  %none_2 = arith.constant 0.0 : f64
  %m0 = tile.broadcast %none_2 over (%i) : f64 to f64
  %l, %m = tile.loop %j0 = %zero to %N step %rows iter_args(%l1 = %l0, %m1 = %m0) -> (f32, f64) {
    %j = tile.range "j" from %j0 to %N size %rows
    %x = tile.load @x[%i, %j] : f32
    %w = math.exp %x : f32
    %t = tile.sum %w over %j : f32 to f32
    %l2 = arith.addf %l1, %t : f32
    %y = tile.load @y[%i, %j] : f64
    %u = math.exp %y : f64
    %z = arith.mulf %u, %y : f64
    %s = tile.sum %z over %j : f64 to f64
    %m2 = arith.addf %m1, %s : f64
    tile.yield %l2, %m2 : f32, f64
  }
  tile.store @o[%i] = %l : f32
  tile.store @p[%i] = %m : f64
}

// CHECK-NOT: tile.fused
// CHECK-NOT: %large
