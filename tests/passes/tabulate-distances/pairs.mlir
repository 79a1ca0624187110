// RUN: attndsl opt %s --passes tabulate-distances

// What rests on a pair by more than its distance is read where it is, and so is what no data place.
// CHECK-LABEL: attn.kernel @apart
// CHECK: attn.read @x[%b] :
// CHECK-LABEL: attn.kernel @plain
// CHECK: attn.read @x[%far] where
// One head each has a table; a truth value is a number of one.
// CHECK: spec.tensor @in_by_distance "workspace" "f32" ["H", "M + N"]
// CHECK: spec.tensor @v_by_distance "workspace" "f32" ["H", "M + N"]
// CHECK-LABEL: attn.kernel @heads_distances
// CHECK-DAG: attn.write @in_by_distance[%h, %at]
// CHECK-DAG: attn.write @v_by_distance[%h, %at]
// CHECK-LABEL: attn.kernel @heads {
// CHECK-NOT: attn.read @bucket
// CHECK: attn.read @in_by_distance[%h, %{{.*}}] : f32
spec.tensor @s "input" "f32" ["H", "M", "N"]
spec.tensor @x "input" "f32" ["32"]
spec.tensor @bucket "input" "i32" ["32"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @p "output" "f32" ["M"]
spec.tensor @r "output" "f32" ["H", "M"]
attn.kernel @apart {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %c32 = arith.constant 32 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %sum = arith.addi %i, %j : index
  %near = spec.mod %sum, %c32
  %a = attn.read @bucket[%near] : index
  %b = spec.mod %a, %c32
  %v = attn.read @x[%b] : f32
  %t = attn.total %v over %j : f32
  attn.write @o[%i] = %t : f32
}
attn.kernel @plain {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %zero = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %far = arith.subi %j, %i : index
  %low = arith.cmpi sle, %zero, %far : index
  %high = arith.cmpi slt, %far, %c32 : index
  %in = arith.andi %low, %high : i1
  %v = attn.read @x[%far] where %in : f32
  %t = attn.total %v over %j : f32
  attn.write @p[%i] = %t : f32
}
attn.kernel @heads {
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %zero = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %far = arith.subi %j, %i : index
  %near = spec.mod %far, %c32
  %a = attn.read @bucket[%near] : index
  %of = arith.addi %a, %h : index
  %low = arith.cmpi sle, %zero, %of : index
  %high = arith.cmpi slt, %of, %c32 : index
  %in = arith.andi %low, %high : i1
  %v = attn.read @x[%of] where %in : f32
  %s = attn.read @s[%h, %i, %j] : f32
  %both = arith.addf %s, %v : f32
  %t = attn.max %both over %j where %in : f32
  attn.write @r[%h, %i] = %t : f32
}
