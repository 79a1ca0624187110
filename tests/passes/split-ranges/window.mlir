// RUN: attndsl opt %s --passes split-ranges

// Rows with starts of their own: the loop begins at the first of them, before which no row is known to see keys. The
// second loop begins at the end, or where that is behind it.
// CHECK-LABEL: tile.kernel @k
// CHECK: %[[CUT:.*]] = arith.maxsi %half, %start : index
// CHECK: tile.loop %j0 = %start to %[[LAST:.*]] step %size rows from %i to %[[LAST]] iter_args
// CHECK: arith.cmpi sle, %i, %j : index
// CHECK: tile.yield
// CHECK: tile.loop %{{.*}} = %[[LAST]] to %N step %size rows from %i to %N iter_args
// CHECK: arith.cmpi sle, %i, %{{.*}} : index
// CHECK: tile.yield
// CHECK-NOT: tile.loop
spec.tensor @a "input" "f32" ["N", "D"]
spec.tensor @b "input" "f32" ["N", "D"]
spec.tensor @o "output" "f32" ["M", "D"]
tile.kernel @k {
  %size = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %low = arith.constant 0xff800000 : f32
  %N = spec.dim "N"
  %M = spec.dim "M"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %half = arith.floordivsi %N, %two : index
  %start = tile.min %i over %i : index to index
  %m0 = tile.broadcast %low over (%i, %d) : f32 to f32
  %t = tile.loop %j0 = %start to %N step %size rows from %i to %N iter_args(%m = %m0) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %seen = arith.cmpi sle, %i, %j : index
    %first = arith.cmpi slt, %j, %half : index
    %x = tile.load @a[%j, %d] : f32
    %y = tile.load @b[%j, %d] : f32
    %v = arith.select %first, %x, %y : f32
    %v1 = arith.select %seen, %v, %low : f32
    %largest = tile.max %v1 over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i, %d] = %t : f32
}
