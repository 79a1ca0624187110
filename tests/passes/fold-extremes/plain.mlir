// RUN: attndsl opt %s --passes fold-extremes{plain=true}

// No more is said of the last row than where it is.
// CHECK: [[BEYOND:%\d+]] = arith.addi %i0, %rows : index
// CHECK-NEXT: [[WITHIN:%\d+]] = arith.minsi [[BEYOND]], %M : index
// CHECK-NEXT: %last = arith.subi [[WITHIN]], {{%\d+}} : index
// CHECK-NEXT: %stop = arith.floordivsi %last, %two : index
// CHECK-NOT: arith.maxsi
spec.tensor @x "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %rows = arith.constant 16 : index
  %two = arith.constant 2 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %half = arith.floordivsi %i, %two : index
  %stop = tile.max %half over %i : index to index
  %t0 = tile.broadcast %none over (%i) : f32 to f32
  %t = tile.loop %j = %zero to %stop step %one iter_args(%s = %t0) -> (f32) {
    %v = tile.load @x[%j] : f32
    %s1 = arith.addf %s, %v : f32
    tile.yield %s1 : f32
  }
  tile.store @o[%i] = %t : f32
}
