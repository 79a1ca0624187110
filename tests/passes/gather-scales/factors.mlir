// RUN: attndsl opt %s --passes gather-scales

// One factor that multiplies stays; what the loop changes is no factor; a row's own factor is none of the tile's.
// CHECK-LABEL: tile.kernel @k
// CHECK-NOT: divf %one
// CHECK: tile.loop
// CHECK: %[[A:.*]] = arith.mulf %x, %two
// CHECK: %[[B:.*]] = arith.divf %[[A]], %y
// CHECK: tile.max %[[B]]
spec.tensor @x "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %keys = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %two = arith.constant 2.0 : f32
  %N = spec.dim "N"
  %M = spec.dim "M"
  %i = tile.program "i" to %M step %keys
  %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %low) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %x = tile.load @x[%j] : f32
    %y = tile.load @x[%j0] : f32
    %a = arith.mulf %x, %two : f32
    %b = arith.divf %a, %y : f32
    %largest = tile.max %b over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}
