// RUN: attndsl opt %s --passes nest-loops,simplify-indices,canonicalize,cse

// The outer variable is that of all indices but the last; the inner one may differ by row.
// CHECK-LABEL: attn.kernel @k
// CHECK: [[BOTH:%[0-9]+]] = arith.muli %H, %G
// CHECK: %t_u = attn.outer "t_u" to [[BOTH]]
// CHECK: %i = attn.over "i" to %length up to %M within %t_u
// CHECK: %t_of = arith.floordivsi %t_u, %H
// CHECK: %u = spec.mod %t_u, %H
// CHECK: attn.read @x[%t, %u, %i]
// CHECK: attn.total %{{.*}} over %i
spec.tensor @x "input" "f32" ["G", "H", "M"]
spec.tensor @n "input" "u8" ["N"]
spec.tensor @o "output" "f32" ["N"]
attn.kernel @k {
  %N = spec.dim "N"
  %G = spec.dim "G"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %zero = arith.constant 0 : index
  %j = attn.each "j" to %N
  %own = attn.read @n[%j] : index
  %length = arith.minsi %own, %M : index
  %few = arith.muli %length, %H : index
  %all = arith.muli %few, %G : index
  %key = attn.over "t_u_i" to %all
  %pair = arith.floordivsi %key, %length : index
  %t_of = arith.floordivsi %key, %few : index
  %t = spec.mod %t_of, %G
  %u = spec.mod %pair, %H
  %i = spec.mod %key, %length
  %v = attn.read @x[%t, %u, %i] : f32
  %s = attn.total %v over %key : f32
  attn.write @o[%j] = %s : f32
}
