// RUN: attndsl opt %s --passes 'batch-programs{numbers=48}'

// The largest product of a turn has as many numbers as keys, of which %N may have fewer than a tile, times the longest
// other axis. %weight is not another for each head; %bias is, and so is the sum, which starts as one for all heads. A sentence is
// taken with the next where all heads of it leave room. There are four programs or more, unless four times as many numbers
// would fit.

spec.tensor @q "input" "f32" ["B", "H", "M", "D"]
spec.tensor @k "input" "f32" ["B", "H", "N", "D"]
spec.tensor @bias "input" "f32" ["H"]
spec.tensor @weight "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["B", "H", "M"]
tile.kernel @heads {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %B = spec.dim "B"
  %b = tile.program "b" to %B step %one
  %H = spec.dim "H"
  %h = tile.program "h" to %H step %one
  %M = spec.dim "M"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %N = spec.dim "N"
  %D = spec.dim "D"
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%b, %h, %i, %d] : f32
  %bias = tile.load @bias[%h] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %k = tile.load @k[%b, %h, %j, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %biased = arith.addf %score, %bias : f32
    %weight = tile.load @weight[%j] : f32
    %weighted = arith.mulf %biased, %weight : f32
    %part = tile.sum %weighted over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%b, %h, %i] = %sum : f32
}

// CHECK:      %j_size = arith.minsi %N, %size
// CHECK:      %i_size = arith.minsi %M, %size
// CHECK:      arith.constant 48
// CHECK-NEXT: %[[most:.*]] = arith.floordivsi
// CHECK-NEXT: arith.constant 12
// CHECK-NEXT: %[[few:.*]] = arith.floordivsi
// CHECK:      %programs = arith.muli %B, %H
// CHECK:      %[[programs:.*]] = arith.muli %programs,
// CHECK:      %[[share:.*]] = arith.floordivsi %[[programs]],
// CHECK:      arith.maxsi %[[few]],
// CHECK:      arith.minsi %[[most]], %[[share]]
// CHECK-NEXT: %h_step = arith.maxsi
// CHECK:      arith.maxsi %H{{\S*}},
// CHECK-NEXT: arith.floordivsi %h_step,
// CHECK-NEXT: arith.constant 1
// CHECK-NEXT: %b_step = arith.maxsi
// CHECK-NEXT: %b0 = tile.program "b" to %B step %b_step
// CHECK-NEXT: %b = tile.range "b" from %b0 to %B size %b_step
// CHECK-NEXT: %h0 = tile.program "h" to %H{{\S*}} step %h_step
// CHECK-NEXT: %h = tile.range "h" from %h0 to %H{{\S*}} size %h_step
// CHECK:      %i0 = tile.program "i" to %M{{\S*}} step %size
// CHECK:      %start = tile.broadcast %none over(%b, %h, %i)
// CHECK:      tile.load @k[%b, %h, %j, %d]
