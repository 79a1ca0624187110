// RUN: attndsl opt %s --passes fuse-loops

// CHECK-NOT: attn.scatter
spec.tensor @q "input" "f32" ["B", "M", "D"]
spec.tensor @k "input" "f32" ["B", "N", "D"]
spec.tensor @other "input" "f32" ["B", "N", "D"]
spec.tensor @a "output" "f32" ["B", "M", "D"]
spec.tensor @b "output" "f32" ["B", "N", "D"]
spec.tensor @c "output" "f32" ["B", "M", "D"]
spec.tensor @d "output" "f32" ["B", "N", "D"]
spec.tensor @e "output" "f32" ["B", "M", "D"]
spec.tensor @f "output" "f32" ["B", "N", "D"]
// Weights that differ.
attn.kernel @sine {
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
  %p = math.sin %s : f32
  %v = attn.read @k[%b, %j, %e] : f32
  %pv = arith.mulf %p, %v : f32
  %seen = arith.cmpi sle, %j, %i : index
  %t = attn.total %pv over %j where %seen : f32
  attn.write @a[%b, %i, %e] = %t : f32
}
// Other keys.
attn.kernel @other_keys {
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
  %k = attn.read @other[%b, %j, %d] : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %p = math.exp %s : f32
  %v = attn.read @k[%b, %j, %e] : f32
  %pv = arith.mulf %p, %v : f32
  %seen = arith.cmpi sle, %j, %i : index
  %t = attn.total %pv over %j where %seen : f32
  attn.write @c[%b, %i, %e] = %t : f32
}
// Some rows of all: as many as there are keys.
attn.kernel @some_rows {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %j = attn.each "j" to %N
  %i = attn.over "i" to %N
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
// Nothing is computed for each pair that both could share.
attn.kernel @no_contraction {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %e = attn.axis "e" to %D
  %v = attn.read @k[%b, %j, %e] : f32
  %t = attn.total %v over %j : f32
  attn.write @e[%b, %i, %e] = %t : f32
}
attn.kernel @nor_here {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %j = attn.each "j" to %N
  %i = attn.over "i" to %M
  %e = attn.axis "e" to %D
  %v = attn.read @q[%b, %i, %e] : f32
  %t = attn.total %v over %i : f32
  attn.write @f[%b, %j, %e] = %t : f32
}
