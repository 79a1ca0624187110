// RUN: attndsl opt %s --passes split-loops

// What is said to hold from one key up to another is settled in the full tiles between them, and in no others.
// CHECK-LABEL: tile.kernel @k
// CHECK: arith.subi %from, %zero
// CHECK: %full_start = arith.addi
// CHECK: arith.minsi %N, %to
// CHECK: %covered = arith.muli
// CHECK: tile.loop full %{{.*}} = %full_start to %full_stop
// CHECK-NOT: cmpi
// CHECK-NOT: tile.load @c
// CHECK: tile.yield
// CHECK: tile.loop mixed %step = %zero to
// CHECK: arith.cmpi eq, %r, %c
// CHECK-NOT: tile.holds
spec.tensor @x "input" "f32" ["N"]
spec.tensor @row "input" "i32" ["M"]
spec.tensor @c "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %keys = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %N = spec.dim "N"
  %M = spec.dim "M"
  %i0 = tile.program "i" to %M step %keys
  %i = tile.range "i" from %i0 to %M size %keys
  %r = tile.load @row[%i] : index
  %m0 = tile.broadcast %low over (%i) : f32 to f32
  // Nothing holds: that is where the loop ends.
  %from = tile.broadcast %N over () : index to index
  %to = tile.broadcast %N over () : index to index
  %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %m0) -> (f32) {
    %end = arith.addi %j0, %keys : index
    %j = tile.range "j" from %j0 to %end size %keys
    %last = arith.cmpi slt, %j, %N : index
    %c = tile.load @c[%j] where %last : index
    %same = arith.cmpi eq, %r, %c : index
    tile.holds %same over %j from %from to %to
    %both = arith.andi %same, %last : i1
    %v = tile.load @x[%j] where %last : f32
    %v1 = arith.select %both, %v, %low : f32
    %largest = tile.max %v1 over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}
