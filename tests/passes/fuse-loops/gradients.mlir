// RUN: attndsl opt %s --passes fuse-loops

// Heads that share keys: the place of a query tells both its group and its number within it, and a group divides it.
// CHECK: spec.tensor @d_q "output" "f32" ["B", "Hq", "M", "D"] partial
// CHECK-LABEL: attn.kernel @keys {
// CHECK-NOT: attn.kernel
// CHECK: %[[d_k:\S+]] = attn.total %{{.+}} over %i where %[[seen:\S+]] : f32
// CHECK: %[[k:\S+]] = attn.read @k[%b, %g, %j, %d] : f32
// CHECK: %[[scaled:\S+]] = arith.divf %[[k]], %{{.+}} : f32
// CHECK: %[[ds:\S+]] = arith.mulf %{{.+}}, %[[scaled]] : f32
// CHECK: attn.scatter @d_q[%b, %{{.+}}, %i, %d] = %[[ds]] over %i along(%j) where %[[seen]] : f32
// CHECK-NOT: attn.kernel
spec.tensor @q "input" "f32" ["B", "Hq", "M", "D"]
spec.tensor @k "input" "f32" ["B", "Hkv", "N", "D"]
spec.tensor @v "input" "f32" ["B", "Hkv", "N", "E"]
spec.tensor @lse "input" "f32" ["B", "Hq", "M"]
spec.tensor @d_o "input" "f32" ["B", "Hq", "M", "E"]
spec.tensor @delta "input" "f32" ["B", "Hq", "M"]
spec.tensor @d_q "output" "f32" ["B", "Hq", "M", "D"]
spec.tensor @d_k "output" "f32" ["B", "Hkv", "N", "D"]
spec.tensor @d_v "output" "f32" ["B", "Hkv", "N", "E"]
attn.kernel @queries {
  %Hkv = spec.dim "Hkv"
  %0 = arith.constant 0 : index
  %1 = arith.cmpi ne, %Hkv, %0 : index
  spec.assume %1
  %Hq = spec.dim "Hq"
  %2 = spec.mod %Hq, %Hkv
  %3 = arith.cmpi eq, %2, %0 : index
  spec.assume %3
  %4 = arith.floordivsi %Hq, %Hkv : index
  %5 = arith.cmpi ne, %4, %0 : index
  spec.assume %5
  %B = spec.dim "B"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %Hq
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %N = spec.dim "N"
  %j = attn.over "j" to %N
  %D = spec.dim "D"
  %d = attn.axis "d_1" to %D
  %d_1 = attn.axis "d" to %D
  %q = attn.read @q[%b, %h, %i, %d_1] : f32
  %6 = arith.floordivsi %h, %4 : index
  %k = attn.read @k[%b, %6, %j, %d_1] : f32
  %7 = arith.mulf %q, %k : f32
  %8 = attn.sum %7 over %d_1 : f32
  %9 = spec.to_float %D : f32
  %10 = math.sqrt %9 : f32
  %11 = arith.divf %8, %10 : f32
  %lse = attn.read @lse[%b, %h, %i] : f32
  %12 = arith.constant 0xff800000 : f32
  %13 = arith.cmpf oeq, %lse, %12 : f32
  %14 = arith.constant 0.000000e+00 : f32
  %15 = arith.select %13, %14, %lse : f32
  %16 = arith.subf %11, %15 : f32
  %17 = math.exp %16 : f32
  %E = spec.dim "E"
  %e = attn.axis "e" to %E
  %d_o = attn.read @d_o[%b, %h, %i, %e] : f32
  %v = attn.read @v[%b, %6, %j, %e] : f32
  %18 = arith.mulf %d_o, %v : f32
  %19 = attn.sum %18 over %e : f32
  %delta = attn.read @delta[%b, %h, %i] : f32
  %20 = arith.subf %19, %delta : f32
  %21 = arith.mulf %17, %20 : f32
  %k_1 = attn.read @k[%b, %6, %j, %d] : f32
  %22 = arith.mulf %21, %k_1 : f32
  %23 = arith.addi %i, %N : index
  %24 = arith.subi %23, %M : index
  %25 = arith.cmpi sle, %j, %24 : index
  %26 = attn.total %22 over %j where %25 : f32
  %27 = arith.divf %26, %10 : f32
  attn.write @d_q[%b, %h, %i, %d] = %27 : f32
}
attn.kernel @keys {
  %Hkv = spec.dim "Hkv"
  %0 = arith.constant 0 : index
  %1 = arith.cmpi ne, %Hkv, %0 : index
  spec.assume %1
  %Hq = spec.dim "Hq"
  %2 = spec.mod %Hq, %Hkv
  %3 = arith.cmpi eq, %2, %0 : index
  spec.assume %3
  %4 = arith.floordivsi %Hq, %Hkv : index
  %5 = arith.cmpi ne, %4, %0 : index
  spec.assume %5
  %B = spec.dim "B"
  %b = attn.each "b" to %B
  %g = attn.each "g" to %Hkv
  %N = spec.dim "N"
  %j = attn.each "j" to %N
  %M = spec.dim "M"
  %t = attn.outer "t" to %4
  %i = attn.over "i" to %M within %t
  %D = spec.dim "D"
  %d = attn.axis "d_1" to %D
  %6 = arith.muli %g, %4 : index
  %7 = arith.addi %t, %6 : index
  %d_1 = attn.axis "d" to %D
  %q = attn.read @q[%b, %7, %i, %d_1] : f32
  %k = attn.read @k[%b, %g, %j, %d_1] : f32
  %8 = arith.mulf %q, %k : f32
  %9 = attn.sum %8 over %d_1 : f32
  %10 = spec.to_float %D : f32
  %11 = math.sqrt %10 : f32
  %12 = arith.divf %9, %11 : f32
  %lse = attn.read @lse[%b, %7, %i] : f32
  %13 = arith.constant 0xff800000 : f32
  %14 = arith.cmpf oeq, %lse, %13 : f32
  %15 = arith.constant 0.000000e+00 : f32
  %16 = arith.select %14, %15, %lse : f32
  %17 = arith.subf %12, %16 : f32
  %18 = math.exp %17 : f32
  %E = spec.dim "E"
  %e = attn.axis "e" to %E
  %d_o = attn.read @d_o[%b, %7, %i, %e] : f32
  %v = attn.read @v[%b, %g, %j, %e] : f32
  %19 = arith.mulf %d_o, %v : f32
  %20 = attn.sum %19 over %e : f32
  %delta = attn.read @delta[%b, %7, %i] : f32
  %21 = arith.subf %20, %delta : f32
  %22 = arith.mulf %18, %21 : f32
  %q_1 = attn.read @q[%b, %7, %i, %d] : f32
  %23 = arith.mulf %22, %q_1 : f32
  %24 = arith.addi %i, %N : index
  %25 = arith.subi %24, %M : index
  %26 = arith.cmpi sle, %j, %25 : index
  %27 = attn.total %23 over %i where %26 : f32
  %28 = arith.divf %27, %11 : f32
  attn.write @d_k[%b, %g, %j, %d] = %28 : f32
  %29 = arith.mulf %18, %d_o : f32
  %30 = attn.total %29 over %i where %26 : f32
  attn.write @d_v[%b, %g, %j, %e] = %30 : f32
}
