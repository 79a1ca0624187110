// RUN: attndsl opt %s --passes mask-edges

// Where data are known to agree, no tile reads them but those at the edges; nothing is left of the statement.
// CHECK-LABEL: tile.kernel @k
// CHECK: tile.loop
// CHECK-NOT: tile.load @d
// CHECK: scf.if %{{mixed_start.*}}
// CHECK: tile.load @d[%j_edge]
// CHECK: tile.mask
// CHECK: scf.if %{{mixed_stop.*}}
// CHECK: tile.load @d[%{{j_edge.*}}]
// CHECK: tile.mask
// CHECK-NOT: tile.holds
spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @d "input" "bool" ["N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %size = arith.constant 3 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %none = tile.broadcast %low over (%i) : f32 to f32
  %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %d = tile.load @d[%j] : i1
    tile.holds %d over %j from %N to %N
    %x = tile.load @x[%i, %j] : f32
    %s = arith.select %d, %x, %low : f32
    %largest = tile.max %s over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}
