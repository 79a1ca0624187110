// RUN: attndsl opt %s --passes scale-operands

// A root of an extent is at most 1 below the line, and moved; a parameter may be any number; a product that is read
// elsewhere stays as it is; so does one of two tiles that the loop makes.
// CHECK-LABEL: tile.kernel @k
// CHECK: %[[SCALED:.*]] = arith.mulf %q, %{{.*}}
// CHECK: tile.loop
// CHECK: %s = tile.dot %[[SCALED]], %k over %d
// CHECK-NOT: arith.mulf %s,
// CHECK: %b = tile.dot %q, %k over %d
// CHECK: arith.mulf %b, %cap
// CHECK: %c = tile.dot %q, %k over %d
// CHECK: arith.mulf %c, %scale
// CHECK: %e = tile.dot %x, %k over %d
// CHECK: arith.mulf %e, %scale
spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @o "output" "f32" ["M"]
spec.parameter @cap f32 = 2.0 : f32
tile.kernel @k {
  %size = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %cap = spec.param "cap" : f32
  %real = spec.to_float %D : f32
  %root = math.sqrt %real : f32
  %scale = arith.divf %one, %root : f32
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %low over (%i) : f32 to f32
  %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %k = tile.load @k[%j, %d] : f32
    %a = tile.dot %q, %k over %d : f32
    %s = arith.mulf %scale, %a : f32
    %b = tile.dot %q, %k over %d : f32
    %s1 = arith.mulf %b, %cap : f32
    %c = tile.dot %q, %k over %d : f32
    %s2 = arith.mulf %c, %scale : f32
    %s3 = arith.addf %c, %s2 : f32
    %x = tile.load @q[%i, %d] : f32
    %e = tile.dot %x, %k over %d : f32
    %s4 = arith.mulf %e, %scale : f32
    %s5 = arith.addf %s, %s1 : f32
    %s6 = arith.addf %s3, %s4 : f32
    %s7 = arith.addf %s5, %s6 : f32
    %sum = tile.sum %s7 over %j : f32 to f32
    %m1 = arith.addf %m, %sum : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}
