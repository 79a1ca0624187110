// RUN: attndsl opt %s --passes mask-edges

// A window has an edge at each end. What data say is selected in every tile, before them; what only a product's second
// look asks for is computed there. A load keeps its guard, and what that rests on.
// CHECK-LABEL: tile.kernel @k
// CHECK: %full_start = tile.max %first over %i
// CHECK: %full_stop = tile.min %last over %i
// CHECK: tile.loop
// CHECK: %mixed_start = arith.cmpi slt, %j0, %full_start
// CHECK: %j_end = arith.minsi
// CHECK-NEXT: %mixed_stop = arith.cmpi sgt, %j_end, %full_stop
// CHECK-NEXT: %j = tile.range "j" from %j0 to %j_end
// CHECK: %{{.*}} = arith.select %valid, %x
// CHECK: scf.if %mixed_start
// CHECK: %j_to = arith.minsi %j_end, %full_start
// CHECK: tile.range "j" from %j0 to %j_to
// CHECK: arith.cmpi sgt, %first, %j_edge
// CHECK: tile.mask
// CHECK: scf.if %mixed_stop
// CHECK: %j_from = arith.maxsi %j0, %full_stop
// CHECK: arith.cmpi sle, %last, %{{j_edge.*}}
// CHECK: %[[MIXED:.*]] = arith.ori %mixed_start, %mixed_stop
// CHECK-NEXT: %[[LOOK:.*]] = arith.andi %[[MIXED]], %odd
// CHECK-NEXT: scf.if %[[LOOK]]
// CHECK: arith.cmpi sle, %first, %j
// CHECK: arith.cmpi sgt, %last, %j
// CHECK: tile.dot %{{.*}}, %v over %j where
spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @v "input" "f32" ["N", "E"]
spec.tensor @valid "input" "bool" ["N"]
spec.tensor @o "output" "f32" ["M", "E"]
tile.kernel @k {
  %size = arith.constant 3 : index
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %true = arith.constant true
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %e = tile.range "e" from %zero to %E size %E
  %first = arith.subi %i, %size : index
  %last = arith.addi %i, %size : index
  %start = tile.broadcast %none over (%i, %e) : f32 to f32
  %t = tile.loop %j0 = %zero to %N step %size rows from %first to %last iter_args(%m = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %after = arith.cmpi sle, %first, %j : index
    %before = arith.cmpi sgt, %last, %j : index
    %own = arith.andi %after, %before : i1
    %valid = tile.load @valid[%j] : i1
    %seen = arith.andi %own, %valid : i1
    %x = tile.load @x[%i, %j] : f32
    %s = arith.select %seen, %x, %none : f32
    %p = arith.select %own, %s, %none : f32
    %v = tile.load @v[%j, %e] : f32
    %guess = tile.dot %p, %v over %j : f32
    %finite = tile.finite %guess : f32
    %odd = arith.xori %finite, %true : i1
    %sum = scf.if %odd -> (f32) {
      %exact = tile.dot %p, %v over %j where %own : f32
      scf.yield %exact : f32
    } else {
      scf.yield %guess : f32
    }
    %m1 = arith.addf %m, %sum : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i, %e] = %t : f32
}
