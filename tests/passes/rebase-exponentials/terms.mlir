// RUN: attndsl opt %s --passes rebase-exponentials,canonicalize,cse
// The factor joins scales and divisors, and terms of fewer axes, in sums of any depth. Where a term of all axes has none,
// as a bias of each pair, or where a sum is used elsewhere, a product would be its own: that of exp is as cheap.

spec.tensor @s "input" "f32" ["M", "N"]
spec.tensor @b "input" "f32" ["M", "N"]
spec.tensor @l "input" "f32" ["M"]
spec.tensor @c "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: attn.kernel @scaled {
// CHECK: %s = attn.read @s[%i, %j] : f32
// CHECK-NEXT: %l = attn.read @l[%i] : f32
// CHECK-NEXT: %c = attn.read @c[%j] : f32
// CHECK-NEXT: [[V0:%\d+]] = arith.constant 1.44269502 : f32
// CHECK-NEXT: %scale = arith.divf [[V0]], %l : f32
// CHECK-NEXT: [[V1:%\d+]] = arith.mulf %s, %scale : f32
// CHECK-NEXT: %c_1 = arith.mulf %c, [[V0]] : f32
// CHECK-NEXT: %l_1 = arith.mulf %l, [[V0]] : f32
// CHECK-NEXT: [[V3:%\d+]] = arith.addf [[V1]], %c_1 : f32
// CHECK-NEXT: [[V5:%\d+]] = arith.subf [[V3]], %l_1 : f32
// CHECK-NEXT: [[V6:%\d+]] = math.exp2 [[V5]] : f32
// CHECK-NEXT: %t = attn.total [[V6]] over %j : f32
attn.kernel @scaled {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %s = attn.read @s[%i, %j] : f32
  %l = attn.read @l[%i] : f32
  %c = attn.read @c[%j] : f32
  %0 = arith.divf %s, %l : f32
  %1 = arith.addf %0, %c : f32
  %2 = arith.subf %1, %l : f32
  %3 = math.exp %2 : f32
  %t = attn.total %3 over %j : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @a_bias_of_pairs {
// CHECK: math.exp {{.*}}
attn.kernel @a_bias_of_pairs {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %s = attn.read @s[%i, %j] : f32
  %b = attn.read @b[%i, %j] : f32
  %l = attn.read @l[%i] : f32
  %0 = arith.mulf %s, %l : f32
  %1 = arith.addf %0, %b : f32
  %2 = math.exp %1 : f32
  %t = attn.total %2 over %j : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @used_elsewhere {
// CHECK: math.exp {{.*}}
attn.kernel @used_elsewhere {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %s = attn.read @s[%i, %j] : f32
  %l = attn.read @l[%i] : f32
  %0 = arith.mulf %s, %l : f32
  %1 = arith.subf %0, %l : f32
  %2 = arith.subf %1, %l : f32
  %3 = math.exp %2 : f32
  %4 = arith.mulf %3, %1 : f32
  %t = attn.total %4 over %j : f32
  attn.write @o[%i] = %t : f32
}
