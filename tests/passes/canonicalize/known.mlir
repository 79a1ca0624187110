// RUN: attndsl opt %s --passes canonicalize

// A condition that is known at all places of a tile joins nothing, on whichever side it stands.
// CHECK-LABEL: tile.kernel @k
// CHECK: %in = arith.cmpi slt, %j, %M : index
// CHECK-NEXT: %x = tile.load @x[%j] where %in : f32
// CHECK-NEXT: %y = tile.load @x[%j] : f32
// CHECK-NOT: arith.andi
// CHECK-NOT: arith.ori
spec.tensor @x "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %true = arith.constant true
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = tile.program "i" to %M step %one
  %j = tile.range "j" from %zero to %N size %N
  %known = tile.broadcast %true over (%j) : i1 to i1
  %in = arith.cmpi slt, %j, %M : index
  %both = arith.andi %known, %in : i1
  %either = arith.ori %known, %in : i1
  %x = tile.load @x[%j] where %both : f32
  %y = tile.load @x[%j] where %either : f32
  %z = arith.addf %x, %y : f32
  %s = tile.sum %z over %j : f32 to f32
  tile.store @o[%i] = %s : f32
}
