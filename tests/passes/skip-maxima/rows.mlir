// RUN: attndsl opt %s --passes skip-maxima

// Rows of which their ends tell that they have no keys are right with sums of 0, and have the maximum of nothing. What a
// loop carries beside a softmax stays, a maximum that a spec asks for among it. Rows that were right keep their numbers.
// CHECK-LABEL: tile.kernel @k
// CHECK: %[[L:.*]], %[[A:.*]], %{{.*}} = tile.loop %j0 = %zero to %N step %size rows from %zero to %i
// CHECK-NOT: arith.subf
// CHECK: %p = math.exp %s : f32
// CHECK-NOT: tile.within
// CHECK: %l2 = arith.addf %l1, %sum : f32
// CHECK: %a2 = arith.addf %a1, %part : f32
// CHECK: %most2 = arith.maximumf %most1, %largest : f32
// CHECK-NEXT: tile.yield %l2, %a2, %most2
// CHECK: %[[HAS:.*]] = arith.cmpi sgt, %i, %zero : index
// CHECK: arith.select %[[HAS]], %[[L]], %{{.*}} : f32
// CHECK: %in_range = arith.andi
// CHECK: %[[ALL:.*]] = tile.all %in_range over %i
// CHECK: %[[FINITE:.*]] = tile.finite %[[A]]
// CHECK: %right = arith.andi %[[ALL]], %[[FINITE]]
// CHECK: %[[NONE:.*]] = arith.select %[[HAS]], %{{.*}}, %{{.*}} : f32
// CHECK: scf.if
// CHECK: tile.loop
// CHECK: %alpha{{.*}} = math.exp
// CHECK: tile.all %{{.*}} over %e
// CHECK: %[[RIGHT:.*]] = arith.andi %in_range
// CHECK: arith.select %[[RIGHT]], %[[NONE]]
// CHECK: arith.select %[[RIGHT]], %[[L]]
// CHECK: arith.select %[[RIGHT]], %[[A]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[NONE]], %[[L]], %[[A]]

// A maximum that something else reads is no mere scale.
// CHECK-LABEL: tile.kernel @read
// CHECK: %m, %l, %steps = tile.loop
// CHECK-NOT: scf.if
spec.tensor @s "input" "f32" ["M", "N"]
spec.tensor @v "input" "f32" ["N", "E"]
spec.tensor @o "output" "f32" ["M", "E"]
spec.tensor @lse "output" "f32" ["M"]
spec.tensor @most "output" "f32" ["M"]
spec.tensor @steps "output" "f32" ["M"]
tile.kernel @k {
  %size = arith.constant 4 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %e = tile.range "e" from %zero to %E size %E
  %m0 = tile.broadcast %low over (%i) : f32 to f32
  %l0 = tile.broadcast %none over (%i) : f32 to f32
  %a0 = tile.broadcast %none over (%i, %e) : f32 to f32
  %m, %l, %a, %most = tile.loop %j0 = %zero to %N step %size rows from %zero to %i iter_args(%m1 = %m0, %l1 = %l0, %a1 = %a0, %most1 = %m0) -> (f32, f32, f32, f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %seen = arith.cmpi sgt, %i, %j : index
    %x = tile.load @s[%i, %j] : f32
    %s = arith.select %seen, %x, %low : f32
    %v = tile.load @v[%j, %e] : f32
    %largest = tile.max %s over %j : f32 to f32
    %m2 = arith.maximumf %m1, %largest : f32
    %nothing = arith.cmpf oeq, %m2, %low : f32
    %shift = arith.select %nothing, %none, %m2 : f32
    %exponent = arith.subf %s, %shift : f32
    %p = math.exp %exponent : f32
    tile.within %p from 0.0 to 1.0 : f32
    %change = arith.subf %m1, %shift : f32
    %alpha = math.exp %change : f32
    %sum = tile.sum %p over %j : f32 to f32
    %l_scaled = arith.mulf %l1, %alpha : f32
    %l2 = arith.addf %l_scaled, %sum : f32
    %part = tile.dot %p, %v over %j where %seen : f32
    %a_scaled = arith.mulf %a1, %alpha : f32
    %a2 = arith.addf %a_scaled, %part : f32
    %most2 = arith.maximumf %most1, %largest : f32
    tile.yield %m2, %l2, %a2, %most2 : f32, f32, f32, f32
  }
  %empty = arith.cmpf oeq, %l, %none : f32
  %mean = arith.divf %a, %l : f32
  %result = arith.select %empty, %none, %mean : f32
  %log = math.log %l : f32
  %sum = arith.addf %m, %log : f32
  tile.store @o[%i, %e] = %result : f32
  tile.store @lse[%i] = %sum : f32
  tile.store @most[%i] = %most : f32
}
tile.kernel @read {
  %size = arith.constant 4 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %m0 = tile.broadcast %low over (%i) : f32 to f32
  %l0 = tile.broadcast %none over (%i) : f32 to f32
  %m, %l, %steps = tile.loop %j0 = %zero to %N step %size iter_args(%m1 = %m0, %l1 = %l0, %steps1 = %l0) -> (f32, f32, f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %s = tile.load @s[%i, %j] : f32
    %largest = tile.max %s over %j : f32 to f32
    %m2 = arith.maximumf %m1, %largest : f32
    %nothing = arith.cmpf oeq, %m2, %low : f32
    %shift = arith.select %nothing, %none, %m2 : f32
    %exponent = arith.subf %s, %shift : f32
    %p = math.exp %exponent : f32
    %change = arith.subf %m1, %shift : f32
    %alpha = math.exp %change : f32
    %sum = tile.sum %p over %j : f32 to f32
    %l_scaled = arith.mulf %l1, %alpha : f32
    %l2 = arith.addf %l_scaled, %sum : f32
    %steps2 = arith.addf %steps1, %change : f32
    tile.yield %m2, %l2, %steps2 : f32, f32, f32
  }
  %sum = arith.addf %l, %steps : f32
  tile.store @steps[%i] = %sum : f32
}
