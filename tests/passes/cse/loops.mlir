// RUN: attndsl opt %s --passes cse
// Inside a loop, what was computed before it is known; not the other way round.

spec.tensor @x "input" "f32" ["M"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: tile.kernel @loops {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %one = arith.constant 1 : index
// CHECK-NEXT:    %none = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %i0 = tile.program "i" to %M step %M
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size %M
// CHECK-NEXT:    %x = tile.load @x[%i] : f32
// CHECK-NEXT:    %start = tile.broadcast %none over(%i) : f32 to f32
// CHECK-NEXT:    %s = tile.loop %j = %zero to %M step %one iter_args(%a = %start) -> (f32) {
// CHECK-NEXT:      %y = tile.load @x[%j] : f32
// CHECK-NEXT:      %p = arith.mulf %x, %y : f32
// CHECK-NEXT:      %next = arith.addf %a, %p : f32
// CHECK-NEXT:      tile.yield %next : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %q = arith.mulf %s, %x : f32
// CHECK-NEXT:    tile.store @o[%i] = %q : f32
// CHECK-NEXT:  }
tile.kernel @loops {
  %M = spec.dim "M"
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %i0 = tile.program "i" to %M step %M
  %i = tile.range "i" from %i0 to %M size %M
  %x = tile.load @x[%i] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %s = tile.loop %j = %zero to %M step %one iter_args(%a = %start) -> (f32) {
    %again = tile.load @x[%i] : f32
    %y = tile.load @x[%j] : f32
    %p = arith.mulf %again, %y : f32
    %next = arith.addf %a, %p : f32
    tile.yield %next : f32
  }
  %q = arith.mulf %s, %x : f32
  tile.store @o[%i] = %q : f32
}
