// RUN: attndsl opt %s --passes skip-maxima

// A loop that goes on with what another one carries: both run without a maximum first, and sums are looked at once,
// after the last; where they were wrong, both run again. Rows have keys that have some in either loop.
// CHECK-LABEL: tile.kernel @k
// CHECK: %[[FIRST:.*]] = tile.loop %j0 = %zero to %M step %size iter_args(%{{.*}} = %l0)
// CHECK-NOT: tile.max
// CHECK: tile.yield
// CHECK-NOT: scf.if
// CHECK: %[[ALL:.*]] = tile.loop %{{.*}} = %M to %N step %size rows from %M to %i iter_args(%{{.*}} = %[[FIRST]])
// CHECK-NOT: tile.max
// CHECK: tile.yield
// CHECK: arith.cmpi sgt, %M, %zero
// CHECK: arith.cmpi sgt, %i, %M
// CHECK: arith.ori
// CHECK: %in_range = arith.andi
// CHECK: scf.if
// CHECK: %[[M:.*]], %[[L:.*]] = tile.loop %{{.*}} = %zero to %M step %size
// CHECK: tile.max
// CHECK: tile.loop %{{.*}} = %M to %N step %size rows from %M to %i iter_args(%{{.*}} = %[[M]], %{{.*}} = %[[L]])
// CHECK: tile.max
// CHECK: arith.select %in_range, %[[ALL]]
// CHECK-NOT: scf.if
spec.tensor @s "input" "f32" ["M", "N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %size = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %m0 = tile.broadcast %low over (%i) : f32 to f32
  %l0 = tile.broadcast %none over (%i) : f32 to f32
  %m_1, %l_1 = tile.loop %j0 = %zero to %M step %size iter_args(%m = %m0, %l = %l0) -> (f32, f32) {
    %j = tile.range "j" from %j0 to %M size %size
    %s = tile.load @s[%i, %j] : f32
    %largest = tile.max %s over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    %nothing = arith.cmpf oeq, %m1, %low : f32
    %shift = arith.select %nothing, %none, %m1 : f32
    %x = arith.subf %s, %shift : f32
    %p = math.exp %x : f32
    %change = arith.subf %m, %shift : f32
    %alpha = math.exp %change : f32
    %sum = tile.sum %p over %j : f32 to f32
    %scaled = arith.mulf %l, %alpha : f32
    %l1 = arith.addf %scaled, %sum : f32
    tile.yield %m1, %l1 : f32, f32
  }
  %m_2, %l_2 = tile.loop %j0 = %M to %N step %size rows from %M to %i iter_args(%m = %m_1, %l = %l_1) -> (f32, f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %t = tile.load @s[%i, %j] : f32
    %seen = arith.cmpi sgt, %i, %j : index
    %s = arith.select %seen, %t, %low : f32
    %largest = tile.max %s over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    %nothing = arith.cmpf oeq, %m1, %low : f32
    %shift = arith.select %nothing, %none, %m1 : f32
    %x = arith.subf %s, %shift : f32
    %p = math.exp %x : f32
    %change = arith.subf %m, %shift : f32
    %alpha = math.exp %change : f32
    %sum = tile.sum %p over %j : f32 to f32
    %scaled = arith.mulf %l, %alpha : f32
    %l1 = arith.addf %scaled, %sum : f32
    tile.yield %m1, %l1 : f32, f32
  }
  %log = math.log %l_2 : f32
  %lse = arith.addf %m_2, %log : f32
  tile.store @o[%i] = %lse : f32
}
