// RUN: attndsl opt %s --passes specialise-strides

// The last axis of @x is walked by features, from 2 on; that of @y by keys and that of @o by rows.

spec.tensor @x "input" "f32" ["N", "D + 2"]
spec.tensor @y "input" "f32" ["D", "N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @sums {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 16 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %moved = arith.addi %d, %two : index
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %x = tile.load @x[%j, %moved] : f32
    %y = tile.load @y[%d, %j] : f32
    %p = arith.mulf %x, %y : f32
    %q = tile.sum %p over %d : f32 to f32
    %r = tile.sum %q over %j : f32 to f32
    %next = arith.addf %a, %r : f32
    tile.yield %next : f32
  }
  tile.store @o[%i] = %sum : f32
}

// CHECK: tile.kernel @sums strided [@x] {
