// RUN: attndsl opt %s --passes reassociate-contractions
// A form that costs more at all extents is none.

spec.tensor @q "input" "f32" ["M", "64"]
spec.tensor @k "input" "f32" ["N", "64"]
spec.tensor @v "input" "f32" ["N", "64"]
spec.tensor @decay "input" "f32" ["M", "N"]
spec.tensor @o "output" "f32" ["M", "64"]

attn.kernel @retained {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = arith.constant 64 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %e = attn.axis "e" to %D
  %q = attn.read @q[%i, %d] : f32
  %k = attn.read @k[%j, %d] : f32
  %v = attn.read @v[%j, %e] : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %sv = arith.mulf %s, %v : f32
  %decay = attn.read @decay[%i, %j] : f32
  %dsv = arith.mulf %decay, %sv : f32
  %t = attn.total %dsv over %j : f32
  attn.write @o[%i, %e] = %t : f32
}

// CHECK-LABEL: attn.kernel @retained {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = arith.constant 64 : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %e = attn.axis "e" to %D
// CHECK-NEXT:    %q = attn.read @q[%i, %d] : f32
// CHECK-NEXT:    %k = attn.read @k[%j, %d] : f32
// CHECK-NEXT:    %v = attn.read @v[%j, %e] : f32
// CHECK-NEXT:    %qk = arith.mulf %q, %k : f32
// CHECK-NEXT:    %s = attn.sum %qk over %d : f32
// CHECK-NEXT:    %sv = arith.mulf %s, %v : f32
// CHECK-NEXT:    %decay = attn.read @decay[%i, %j] : f32
// CHECK-NEXT:    %dsv = arith.mulf %decay, %sv : f32
// CHECK-NEXT:    %t = attn.total %dsv over %j : f32
// CHECK-NEXT:    attn.write @o[%i, %e] = %t : f32
// CHECK-NEXT:  }
