// RUN: attndsl opt %s --passes split-ranges

// A choice between addresses cuts, at an end of quotients of the key; what is read in both ranges is read in both.
// CHECK-LABEL: tile.kernel @addresses
// CHECK: %[[CUT:.*]] = arith.minsi %{{.*}}, %N : index
// CHECK: tile.loop %j0 = %zero to %[[CUT]] step %size
// CHECK-NOT: cmpi
// CHECK: tile.loop %{{.*}} = %[[CUT]] to %N step %size
// CHECK-NOT: cmpi
// CHECK: tile.store

// Choices that rows make, or numbers of keys alone, or data, cut nothing.
// CHECK-LABEL: tile.kernel @stays
// CHECK: tile.loop %j0 = %zero to %N
// CHECK-NOT: tile.loop
spec.tensor @x "input" "f32" ["N", "D"]
spec.tensor @y "input" "f32" ["N", "D"]
spec.tensor @r "input" "f32" ["N"]
spec.tensor @p "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["D"]
spec.tensor @u "output" "f32" ["M", "D"]
tile.kernel @addresses {
  %size = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %low = arith.constant 0xff800000 : f32
  %N = spec.dim "N"
  %M = spec.dim "M"
  %D = spec.dim "D"
  %one = arith.constant 1 : index
  %i0 = tile.program "i" to %one step %one
  %d = tile.range "d" from %zero to %D size %D
  %m0 = tile.broadcast %low over (%d) : f32 to f32
  %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %m0) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %block = arith.floordivsi %j, %two : index
    %first = arith.cmpi slt, %block, %M : index
    %other = arith.subi %N, %j : index
    %last = arith.subi %other, %one : index
    %place = arith.select %first, %j, %last : index
    %v = tile.load @x[%place, %d] : f32
    %w = tile.load @y[%j, %d] : f32
    %z = arith.addf %v, %w : f32
    %largest = tile.max %z over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%d] = %t : f32
}
tile.kernel @stays {
  %size = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xff800000 : f32
  %N = spec.dim "N"
  %M = spec.dim "M"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %m0 = tile.broadcast %low over (%i, %d) : f32 to f32
  %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %m0) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %v = tile.load @x[%j, %d] : f32
    %w = tile.load @y[%j, %d] : f32
    %mine = arith.cmpi slt, %j, %i : index
    %z = arith.select %mine, %v, %w : f32
    %n = tile.load @p[%j] : index
    %data = arith.cmpi slt, %j, %n : index
    %z1 = arith.select %data, %z, %w : f32
    %first = arith.cmpi slt, %j, %M : index
    %s = tile.load @r[%j] : f32
    %scale = arith.select %first, %s, %one : f32
    %z2 = arith.mulf %z1, %scale : f32
    %largest = tile.max %z2 over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @u[%i, %d] = %t : f32
}
