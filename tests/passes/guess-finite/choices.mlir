// RUN: attndsl opt %s --passes guess-finite

// A product that leaves nothing out is no guess; one that stands under a condition has been guessed before.
// CHECK-LABEL: tile.kernel @k
// CHECK: %all = tile.dot %p, %v over %j : f32
// CHECK-NEXT: %[[FINITE:.*]] = tile.finite %all
// CHECK: scf.if
// CHECK-NEXT: tile.dot %p, %v over %j where %seen : f32
// CHECK-NOT: tile.finite
// CHECK: } else {
// CHECK: %[[GUESS:.*]] = tile.dot %p, %v over %j : f32
// CHECK-NEXT: %[[FINITE:.*]] = tile.finite %[[GUESS]]
// CHECK: %{{.*}} = scf.if %{{.*}} -> (f32) {
// CHECK-NEXT: %[[EXACT:.*]] = tile.dot %p, %v over %j where %seen : f32
// CHECK-NEXT: scf.yield %[[EXACT]] : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[GUESS]] : f32
spec.tensor @p "input" "f32" ["M", "N"]
spec.tensor @v "input" "f32" ["N", "E"]
spec.tensor @o "output" "f32" ["M", "E"]
tile.kernel @k {
  %zero = arith.constant 0 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %i = tile.range "i" from %zero to %M size %M
  %j = tile.range "j" from %zero to %N size %N
  %e = tile.range "e" from %zero to %E size %E
  %seen = arith.cmpi sge, %i, %j : index
  %p = tile.load @p[%i, %j] where %seen : f32
  %v = tile.load @v[%j, %e] : f32
  %all = tile.dot %p, %v over %j : f32
  %finite = tile.finite %all : f32
  %a = scf.if %finite -> (f32) {
    %some = tile.dot %p, %v over %j where %seen : f32
    scf.yield %some : f32
  } else {
    scf.yield %all : f32
  }
  %b = tile.dot %p, %v over %j where %seen : f32
  %sum = arith.addf %a, %b : f32
  tile.store @o[%i, %e] = %sum : f32
}
