// RUN: attndsl opt %s --passes split-ranges

// Tiles of a fixed size, rows with ends of their own, and an end that is read: it is brought between those of the loop.
// The last tile of a loop ends behind it, so that the keys there are left out as those behind a row's end are: in both,
// as the second does not begin at a multiple of a tile either.
// CHECK-LABEL: tile.kernel @k
// CHECK: %[[LOW:.*]] = arith.maxsi %length, %zero : index
// CHECK: %[[CUT:.*]] = arith.minsi %[[LOW]], %stop : index
// CHECK: %[[OWN:.*]] = arith.minsi %i, %[[CUT]] : index
// CHECK: %[[FIRST:.*]] = tile.loop %j0 = %zero to %[[CUT]] step %keys rows from %zero to %[[OWN]] iter_args(%m = %m0)
// CHECK: %seen = arith.cmpi sgt, %[[OWN]], %j : index
// CHECK: %in = arith.cmpi sgt, %[[CUT]], %j : index
// CHECK: %old = tile.broadcast %{{.*}} over(%j)
// CHECK-NOT: cmpi
// CHECK: tile.yield
// CHECK: %[[LAST:.*]] = arith.minsi %i, %stop : index
// CHECK: tile.loop %{{.*}} = %[[CUT]] to %stop step %keys rows from %[[CUT]] to %[[LAST]] iter_args(%{{.*}} = %[[FIRST]])
// CHECK: arith.cmpi sgt, %[[LAST]], %{{.*}} : index
// CHECK: arith.cmpi sgt, %stop, %{{.*}} : index
// CHECK-NOT: cmpi
// CHECK: tile.yield
// CHECK-NOT: tile.loop
spec.tensor @a "input" "f32" ["N", "D"]
spec.tensor @b "input" "f32" ["N", "D"]
spec.tensor @n "input" "i32" []
spec.tensor @o "output" "f32" ["M", "D"]
tile.kernel @k {
  %keys = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %N = spec.dim "N"
  %M = spec.dim "M"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %keys
  %i = tile.range "i" from %i0 to %M size %keys
  %d = tile.range "d" from %zero to %D size %D
  %length = tile.load @n[] : index
  %m0 = tile.broadcast %low over (%i, %d) : f32 to f32
  %stop = arith.minsi %N, %keys : index
  %t = tile.loop %j0 = %zero to %stop step %keys rows from %zero to %i iter_args(%m = %m0) -> (f32) {
    %end = arith.addi %j0, %keys : index
    %j = tile.range "j" from %j0 to %end size %keys
    %seen = arith.cmpi sgt, %i, %j : index
    %in = arith.cmpi sgt, %stop, %j : index
    %old = arith.cmpi slt, %j, %length : index
    %x = tile.load @a[%j, %d] where %in : f32
    %y = tile.load @b[%j, %d] where %in : f32
    %v = arith.select %old, %x, %y : f32
    %v1 = arith.select %seen, %v, %low : f32
    %largest = tile.max %v1 over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i, %d] = %t : f32
}
