// RUN: attndsl opt %s --passes fuse-pointwise{numbers=64}

// A condition of rows and keys is computed anew for each batch, where the select of a chain takes it, and once more where
// a branch asks for it. What a product leaves out by it, too, is stored, and so is one of many operations.

spec.tensor @x "input" "f32" ["B", "M", "N"]
spec.tensor @y "input" "i32" ["M"]
spec.tensor @z "input" "i32" ["N"]
spec.tensor @v "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["B", "M"]
spec.tensor @p "output" "f32" ["M"]
tile.kernel @conditions rows last {
  %zero = arith.constant 0 : index
  %size = arith.constant 8 : index
  %none = arith.constant 0.0 : f32
  %low = arith.constant 0xff800000 : f32
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b0 = tile.program "b" to %B step %size
  %i0 = tile.program "i" to %M step %size
  %b = tile.range "b" from %b0 to %B size %size
  %i = tile.range "i" from %i0 to %M size %size
  %y = tile.load @y[%i] : index
  %m0 = tile.broadcast %none over (%b, %i) : f32 to f32
  %m = tile.loop %j0 = %zero to %N step %size iter_args(%m1 = %m0) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %x = tile.load @x[%b, %i, %j] : f32
    %z = tile.load @z[%j] : index
    %v = tile.load @v[%j] : f32
    %same = arith.cmpi eq, %y, %z : index
    %shown = arith.select %same, %x, %low : f32
    %p = math.exp %shown : f32
    %t = tile.dot %p, %v over %j : f32
    %finite = tile.finite %t : f32
    %right = scf.if %finite -> (f32) {
      scf.yield %t : f32
    } else {
      %again = tile.dot %p, %v over %j where %same : f32
      scf.yield %again : f32
    }
    %later = arith.cmpi slt, %y, %z : index
    %others = arith.select %later, %x, %none : f32
    %u = tile.dot %others, %v over %j where %later : f32
    %low_y = arith.cmpi slt, %y, %M : index
    %low_z = arith.cmpi slt, %z, %N : index
    %both = arith.andi %low_y, %low_z : i1
    %less = arith.cmpi slt, %z, %y : index
    %either = arith.ori %both, %less : i1
    %unlike = arith.cmpi ne, %z, %y : index
    %most = arith.andi %either, %unlike : i1
    %few = arith.select %most, %x, %none : f32
    %w = math.exp %few : f32
    %n = tile.sum %w over %j : f32 to f32
    %r = arith.addf %right, %u : f32
    %s = arith.addf %r, %n : f32
    %m2 = arith.addf %m1, %s : f32
    tile.yield %m2 : f32
  }
  tile.store @o[%b, %i] = %m : f32
}

// CHECK:      tile.fused where %large -> (f32, f32) {
// CHECK-NEXT:   %same = arith.cmpi eq, %y, %z : index
// CHECK-NEXT:   %shown = arith.select %same, %x, %low : f32
// CHECK:        math.exp %shown : f32
// CHECK:      scf.if
// CHECK:      } else {
// CHECK-NEXT:   [[SAME:%\w+]] = arith.cmpi eq, %y, %z : index
// CHECK-NEXT:   tile.dot {{.*}} where [[SAME]] : f32
// CHECK:      %later = arith.cmpi slt, %y, %z : index
// CHECK-NEXT: %others = arith.select %later, %x, %none : f32
// CHECK:      %most = tile.fused where %large{{.*}} -> (i1) {
// CHECK:      tile.fused where %large -> (f32) {
// CHECK-NEXT:   %few = arith.select %most, %x, %none : f32
