// RUN: attndsl opt %s --passes batch-programs

// In @ends each head has an end of its own for its keys, which is one number for a tile; in @groups a read would be no
// slice.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @k "input" "f32" ["H", "N", "D"]
spec.tensor @ends "input" "i32" ["H"]
spec.tensor @o "output" "f32" ["H", "M"]
spec.tensor @r "output" "f32" ["H", "M"]
tile.kernel @ends {
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
  %end = tile.load @ends[%h] : index
  %stop = arith.minsi %end, %N : index
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %stop step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %stop size %size
    %k = tile.load @k[%h, %j, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %part = tile.sum %score over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%h, %i] = %sum : f32
}
tile.kernel @groups {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
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
  %g = arith.floordivsi %h, %two : index
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %k = tile.load @k[%g, %j, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %part = tile.sum %score over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @r[%h, %i] = %sum : f32
}

// CHECK: tile.kernel @ends
// CHECK: %h = tile.program "h" to %H step %one
// CHECK: tile.kernel @groups
// CHECK: %h = tile.program "h" to %H step %one
