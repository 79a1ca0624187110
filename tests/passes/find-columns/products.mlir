// RUN: attndsl opt %s --passes find-columns
// A variable that some factors of a contraction go by, and others do not, is the columns'.

spec.tensor @q "input" "f32" ["B", "M", "D"]
spec.tensor @k "input" "f32" ["B", "N", "D"]
spec.tensor @w "input" "f32" ["B", "X", "M"]
spec.tensor @g "input" "f32" ["B", "X", "M", "D"]
spec.tensor @p "output" "f32" ["B", "M", "N"]
spec.tensor @t "output" "f32" ["B", "N", "M"]
spec.tensor @r "output" "f32" ["B", "M", "N"]
spec.tensor @u "output" "f32" ["B", "M", "N"]
spec.tensor @s "output" "f32" ["B", "N"] partial

// CHECK-LABEL: attn.kernel @rows_by_columns {
// CHECK: %b = attn.grid "b" to %B
// CHECK: %i = attn.each "i" to %M
// CHECK: %j = attn.column "j" to %N
attn.kernel @rows_by_columns {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  %e = math.exp %s : f32
  attn.write @p[%b, %i, %j] = %e : f32
}

// What lies side by side in memory is the columns'.
// CHECK-LABEL: attn.kernel @columns_by_rows {
// CHECK: %b = attn.grid "b" to %B
// CHECK: %i = attn.column "i" to %M
// CHECK: %j = attn.each "j" to %N
attn.kernel @columns_by_rows {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  attn.write @t[%b, %j, %i] = %s : f32
}

// A sum around products is a loop.
// CHECK-LABEL: attn.kernel @product_in_a_loop {
// CHECK: %b = attn.grid "b" to %B
// CHECK: %i = attn.each "i" to %M
// CHECK: %j = attn.column "j" to %N
attn.kernel @product_in_a_loop {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %X = spec.dim "X"
  %zero = arith.constant 0.0 : f32
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %h = attn.axis "x" to %X
  %q = attn.read @g[%b, %h, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %w = attn.read @w[%b, %h, %i] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  %m = arith.maximumf %s, %zero : f32
  %y = arith.mulf %w, %m : f32
  %v = attn.sum %y over %h : f32
  attn.write @r[%b, %i, %j] = %v : f32
}

// A contraction whose features are walked as keys are is one, too.
// CHECK-LABEL: attn.kernel @folded {
// CHECK: %b = attn.grid "b" to %B
// CHECK: %i = attn.each "i" to %M
// CHECK: %j = attn.column "j" to %N
attn.kernel @folded {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.over "d" to %D
  %q = attn.read @q[%b, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.total %x over %d precise : f32
  attn.write @u[%b, %i, %j] = %s : f32
}

// CHECK-LABEL: attn.kernel @sums {
// CHECK: %b = attn.grid "b" to %B
// CHECK: %i = attn.each "i" to %M
// CHECK: %j = attn.column "j" to %N
attn.kernel @sums {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  attn.write @s[%b, %j] = %s adds along(%i) : f32
}
