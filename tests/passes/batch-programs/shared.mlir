// RUN: attndsl opt %s --passes batch-programs

// All heads have the same keys: one operand of the product is the same for all that are computed together.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @k "input" "f32" ["H", "N", "D"]
spec.tensor @p "output" "f32" ["H", "M"]
tile.kernel @shares {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %h = tile.program "h" to %H step %one
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %k = tile.load @k[%zero, %j, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %part = tile.sum %score over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @p[%h, %i] = %sum : f32
}

// CHECK: %h_step = arith.maxsi
// CHECK: %h0 = tile.program "h" to %H step %h_step
// CHECK: %h = tile.range "h" from %h0 to %H size %h_step
// CHECK: %q = tile.load @q[%h, %i, %d] : f32
// CHECK: %k = tile.load @k[%zero, %j, %d] : f32
// CHECK: %score = tile.dot %q, %k over %d : f32
