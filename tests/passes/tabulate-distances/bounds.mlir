// RUN: attndsl opt %s --passes tabulate-distances

// A mask still compares places; what is read by two pairs is in two tables; of an int that is an index of the row's own
// there is none.
// CHECK-LABEL: attn.kernel @causal {
// CHECK: arith.cmpi sle, %j, %i
// CHECK: attn.read @{{.*}}_by_distance
// CHECK-LABEL: attn.kernel @two {
// CHECK: attn.read @{{.*}}_by_distance
// CHECK: attn.read @{{.*}}_by_distance
// CHECK-NOT: attn.read @bucket
// CHECK-LABEL: attn.kernel @own {
// CHECK: attn.read @bucket
spec.tensor @x "input" "f32" ["32"]
spec.tensor @y "input" "f32" ["M", "32"]
spec.tensor @bucket "input" "i32" ["32"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @p "output" "f32" ["M"]
spec.tensor @r "output" "f32" ["M"]
spec.tensor @n "input" "f32" ["N"]
attn.kernel @causal {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %zero = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %far = arith.subi %i, %j : index
  %near = spec.mod %far, %c32
  %a = attn.read @bucket[%near] : index
  %low = arith.cmpi sle, %zero, %a : index
  %high = arith.cmpi slt, %a, %c32 : index
  %in = arith.andi %low, %high : i1
  %before = arith.cmpi sle, %j, %i : index
  %seen = arith.andi %before, %in : i1
  %v = attn.read @x[%a] where %in : f32
  %t = attn.total %v over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}
attn.kernel @two {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %c32 = arith.constant 32 : index
  %i = attn.each "i" to %M
  %g = attn.each "g" to %M
  %j = attn.over "j" to %N
  %far = arith.subi %j, %i : index
  %near = spec.mod %far, %c32
  %a = attn.read @bucket[%near] : index
  %at = spec.mod %a, %c32
  %v = attn.read @x[%at] : f32
  %far1 = arith.subi %j, %g : index
  %near1 = spec.mod %far1, %c32
  %a1 = attn.read @bucket[%near1] : index
  %at1 = spec.mod %a1, %c32
  %v1 = attn.read @x[%at1] : f32
  %both = arith.mulf %v, %v1 : f32
  %t = attn.total %both over %j : f32
  attn.write @p[%i] = %t adds along (%g) : f32
}
attn.kernel @own {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %c32 = arith.constant 32 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %far = arith.subi %j, %i : index
  %near = spec.mod %far, %c32
  %a = attn.read @bucket[%near] : index
  %at = spec.mod %a, %c32
  %b = attn.read @bucket[%at] : index
  %at1 = spec.mod %b, %c32
  %v = attn.read @y[%i, %at1] : f32
  %t = attn.total %v over %j : f32
  attn.write @r[%i] = %t : f32
}
