// RUN: attndsl opt %s --passes tile{rows=4,keys=8},canonicalize,cse
// Where a sum over keys is no product of two tiles, there is one key at a time.

spec.tensor @g "input" "i32" ["M", "N"]
spec.tensor @v "input" "f32" ["N", "E"]
spec.tensor @o "output" "f32" ["M", "E"]

// CHECK-LABEL: tile.kernel @sequential {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 1 : index
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %e = tile.range "e" from %zero to %E size %E
// CHECK-NEXT:    %t = tile.broadcast [[V2]] over(%i, %e) : f32 to f32
// CHECK-NEXT:    %t_1 = tile.loop %j = %zero to %N step [[V1]] iter_args(%t_2 = %t) -> (f32) {
// CHECK-NEXT:      %g = tile.load @g[%i, %j] : index
// CHECK-NEXT:      %low = arith.cmpi sle, %zero, %g : index
// CHECK-NEXT:      %high = arith.cmpi slt, %g, %N : index
// CHECK-NEXT:      %inside = arith.andi %low, %high : i1
// CHECK-NEXT:      %v = tile.load @v[%g, %e] where %inside : f32
// CHECK-NEXT:      %t_3 = arith.addf %t_2, %v : f32
// CHECK-NEXT:      tile.yield %t_3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i, %e] = %t_1 : f32
// CHECK-NEXT:  }
attn.kernel @sequential {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %zero = arith.constant 0 : index
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %e = attn.axis "e" to %E
  %g = attn.read @g[%i, %j] : index
  %low = arith.cmpi sle, %zero, %g : index
  %high = arith.cmpi slt, %g, %N : index
  %inside = arith.andi %low, %high : i1
  %v = attn.read @v[%g, %e] where %inside : f32
  %t = attn.total %v over %j where %inside : f32
  attn.write @o[%i, %e] = %t : f32
}
