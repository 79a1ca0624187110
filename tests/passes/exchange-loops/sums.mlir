// RUN: attndsl opt %s --passes exchange-loops
// A variable that no place knows, or knows by its quotient alone, becomes the keys of a product of matrices.

spec.tensor @q "input" "f32" ["B", "H", "M", "D"]
spec.tensor @k "input" "f32" ["B", "N", "D"]
spec.tensor @at "input" "i32" ["M"]
spec.tensor @o "output" "f32" ["B", "N"] partial
spec.tensor @g "output" "f32" ["B", "H // 2", "N"] partial
spec.tensor @p "output" "f32" ["B", "N"] partial
spec.tensor @d "output" "f32" ["B", "H", "N"]
spec.tensor @e "output" "f32" ["M"] partial

// Of two the last. What rests on it is asked of each key, the rest of the row.
// CHECK-LABEL: attn.kernel @last {
// CHECK: %h = attn.each "h" to %H
// CHECK-NEXT: %j = attn.each "j" to %N
// CHECK: %i = attn.over "i" to %M
// CHECK: %total = attn.total %s over %i where %seen precise : f32
// CHECK-NEXT: attn.write @o[%b, %j] = %total adds along(%b, %h, %j) where %known : f32
attn.kernel @last {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %h, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %seen = arith.cmpi sle, %j, %i : index
  %one = arith.constant 1 : index
  %known = arith.cmpi sle, %one, %j : index
  %both = arith.andi %known, %seen : i1
  attn.write @o[%b, %j] = %s adds along(%b, %h, %i, %j) where %both : f32
}

// A kernel for each that is exchanged, before what is left. The last group may have fewer rows than others.
// CHECK-LABEL: attn.kernel @quotient_g_0 {
// CHECK: %h_group = attn.each "h_group" to
// CHECK: [[END:%.*]] = arith.minsi %two, {{%.*}} : index
// CHECK-NEXT: %h = attn.over "h" to [[END]] up to %two
// CHECK: %total = attn.total %s over %h precise : f32
// CHECK-NEXT: attn.write @g[%b, %h_group, %j] = %total adds along(%b, %j, %h_group) : f32
// CHECK-LABEL: attn.kernel @quotient {
// CHECK: attn.write @d[%b, %h, %j] = %s : f32
attn.kernel @quotient {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %B = spec.dim "B"
  %H = spec.dim "H"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %h, %zero, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %of = arith.floordivsi %h, %two : index
  attn.write @g[%b, %of, %j] = %s adds along(%b, %h, %j) : f32
  attn.write @d[%b, %h, %j] = %s : f32
}

// What is 0 is left out, be it chosen or not written.
// CHECK-LABEL: attn.kernel @chosen {
// CHECK: [[WHERE:%.*]] = arith.andi %late, %seen : i1
// CHECK: %total = attn.total %s over %i where [[WHERE]] precise : f32
// CHECK-NEXT: attn.write @o[%b, %j] = %total adds along(%b, %j) where %known : f32
attn.kernel @chosen {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %zero, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %seen = arith.cmpi sle, %j, %i : index
  %x = arith.select %seen, %s, %none : f32
  %one = arith.constant 1 : index
  %known = arith.cmpi sle, %one, %j : index
  %late = arith.cmpi sle, %one, %i : index
  %both = arith.andi %known, %late : i1
  attn.write @o[%b, %j] = %x adds along(%b, %i, %j) where %both : f32
}

// Both factors vary with the batch; the places of data tell nothing that is known before.
// CHECK-LABEL: attn.kernel @no_matrices {
// CHECK: attn.write @p[%b, %t] = %s adds along(%b, %i) where %in : f32
// CHECK-NEXT: attn.write @e[%i] = %s adds along(%b, %i) : f32
attn.kernel @no_matrices {
  %zero = arith.constant 0 : index
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %d = attn.axis "d" to %D
  %j = arith.constant 0 : index
  %q = attn.read @q[%b, %zero, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %t = attn.read @at[%i] : index
  %low = arith.cmpi sle, %zero, %t : index
  %high = arith.cmpi slt, %t, %N : index
  %in = arith.andi %low, %high : i1
  attn.write @p[%b, %t] = %s adds along(%b, %i) where %in : f32
  attn.write @e[%i] = %s adds along(%b, %i) : f32
}
