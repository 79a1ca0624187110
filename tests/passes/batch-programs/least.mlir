// RUN: attndsl opt %s --passes 'batch-programs{numbers=4 least=2}'

// Two programs go together however large their tiles are, where that leaves four of such steps.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @k "input" "f32" ["H", "N", "D"]
spec.tensor @o "output" "f32" ["H", "M"]
tile.kernel @pairs {
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
    %k = tile.load @k[%h, %j, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %part = tile.sum %score over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%h, %i] = %sum : f32
}

// CHECK:      %programs = arith.muli
// CHECK:      %14 = arith.minsi %12, %13 : index
// CHECK-NEXT: %15 = arith.maxsi %6, %14 : index
// CHECK:      %h_step = arith.maxsi %18, %17 : index
// CHECK-NEXT: %h0 = tile.program "h" to %H step %h_step
