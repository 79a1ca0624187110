// RUN: attndsl opt %s --passes 'fuse-loops{programs=2}'

// What is scaled by the root of a size may be scaled before it is added up, once for all keys.
// CHECK: spec.tensor @a "output" "f32" ["B", "M", "D"] partial
// CHECK-LABEL: attn.kernel @by_keys_fused when "B >= 2" {
// CHECK: %[[k:\S+]] = attn.read @k[%b, %j, %e] : f32
// CHECK: %[[scaled:\S+]] = arith.divf %[[k]], %{{.+}} : f32
// CHECK: %[[pk:\S+]] = arith.mulf %p, %[[scaled]] : f32
// CHECK: attn.scatter @a[%b, %i, %e] = %[[pk]] over %i along(%j) where %seen : f32
// CHECK-LABEL: attn.kernel @by_rows unless "B >= 2" {
// CHECK-LABEL: attn.kernel @by_keys unless "B >= 2" {
// What a call says may be no number: then 0, as a row has that sees no keys, is multiplied with that in the end.
// CHECK: spec.tensor @t "workspace" "f32" ["B", "M", "D"] partial
// CHECK-LABEL: attn.kernel @by_keys_again_fused when "B >= 2" {
// CHECK: attn.scatter @t[%b, %i, %e] = %{{.+}} over %i along(%j) where %seen : f32
// CHECK-LABEL: attn.kernel @scaled_fused when "B >= 2" {
// CHECK-NOT: attn.over
// CHECK: %[[total:\S+]] = attn.read @t[%b, %i, %e] : f32
// CHECK: arith.mulf %scale, %[[total]] : f32
// CHECK-LABEL: attn.kernel @scaled unless "B >= 2" {
spec.tensor @q "input" "f32" ["B", "M", "D"]
spec.tensor @k "input" "f32" ["B", "N", "D"]
spec.tensor @a "output" "f32" ["B", "M", "D"]
spec.tensor @b "output" "f32" ["B", "N", "D"]
spec.tensor @c "output" "f32" ["B", "M", "D"]
spec.tensor @d "output" "f32" ["B", "N", "D"]
spec.parameter @scale f32 = 0.5 : f32
attn.kernel @by_rows {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %e = attn.axis "e" to %D
  %q = attn.read @q[%b, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %p = math.exp %s : f32
  %v = attn.read @k[%b, %j, %e] : f32
  %pv = arith.mulf %p, %v : f32
  %seen = arith.cmpi sle, %j, %i : index
  %t = attn.total %pv over %j where %seen : f32
  %size = spec.to_float %D : f32
  %root = math.sqrt %size : f32
  %u = arith.divf %t, %root : f32
  attn.write @a[%b, %i, %e] = %u : f32
}
attn.kernel @by_keys {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %j = attn.each "j" to %N
  %i = attn.over "i" to %M
  %d = attn.axis "d" to %D
  %e = attn.axis "e" to %D
  %q = attn.read @q[%b, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %p = math.exp %s : f32
  %v = attn.read @q[%b, %i, %e] : f32
  %pv = arith.mulf %p, %v : f32
  %seen = arith.cmpi sle, %j, %i : index
  %t = attn.total %pv over %i where %seen : f32
  attn.write @b[%b, %j, %e] = %t : f32
}
attn.kernel @scaled {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %e = attn.axis "e" to %D
  %q = attn.read @q[%b, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %p = math.exp %s : f32
  %v = attn.read @k[%b, %j, %e] : f32
  %pv = arith.mulf %p, %v : f32
  %seen = arith.cmpi sle, %j, %i : index
  %t = attn.total %pv over %j where %seen : f32
  %scale = spec.param "scale" : f32
  %u = arith.mulf %scale, %t : f32
  attn.write @c[%b, %i, %e] = %u : f32
}
attn.kernel @by_keys_again {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %j = attn.each "j" to %N
  %i = attn.over "i" to %M
  %d = attn.axis "d" to %D
  %e = attn.axis "e" to %D
  %q = attn.read @q[%b, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %p = math.exp %s : f32
  %v = attn.read @q[%b, %i, %e] : f32
  %pv = arith.mulf %p, %v : f32
  %seen = arith.cmpi sle, %j, %i : index
  %t = attn.total %pv over %i where %seen : f32
  attn.write @d[%b, %j, %e] = %t : f32
}
