// RUN: attndsl opt %s --passes find-columns
// Where no product of a tile of rows with one of columns would do, variables stay as they are.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @c "input" "f32" ["M", "N", "D"]
spec.tensor @n "input" "i32" ["M"]
spec.tensor @g3 "input" "f32" ["X", "M", "D"]
spec.tensor @t "output" "f32" ["M", "N"]
spec.tensor @a "output" "f32" ["M", "N"]
spec.tensor @o "output" "f32" ["M", "N", "D"]
spec.tensor @f "output" "f32" ["M", "N"]
spec.tensor @g "output" "f32" ["M", "N"]
spec.tensor @l "output" "f32" ["M", "N"]
spec.tensor @r "output" "f32" ["M", "N"] partial

// CHECK-NOT: attn.column

// CHECK-LABEL: attn.kernel @one_factor_goes_by_all {
attn.kernel @one_factor_goes_by_all {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%i, %d] : f32
  %c = attn.read @c[%i, %j, %d] : f32
  %x = arith.mulf %q, %c : f32
  %s = attn.sum %x over %d : f32
  attn.write @a[%i, %j] = %s : f32
}

// CHECK-LABEL: attn.kernel @an_output_has_features {
attn.kernel @an_output_has_features {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %e = attn.axis "e" to %D
  %q = attn.read @q[%i, %d] : f32
  %k = attn.read @k[%j, %d] : f32
  %c = attn.read @c[%i, %j, %e] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  %y = arith.addf %s, %c : f32
  attn.write @o[%i, %j, %e] = %y : f32
}

// CHECK-LABEL: attn.kernel @another_sum_has_no_tile {
attn.kernel @another_sum_has_no_tile {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %e = attn.axis "e" to %D
  %q = attn.read @q[%i, %d] : f32
  %k = attn.read @k[%j, %d] : f32
  %c = attn.read @c[%i, %j, %e] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  %t = attn.sum %c over %e : f32
  %y = arith.addf %s, %t : f32
  attn.write @f[%i, %j] = %y : f32
}

// CHECK-LABEL: attn.kernel @a_maximum_has_no_tile {
attn.kernel @a_maximum_has_no_tile {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%i, %d] : f32
  %k = attn.read @k[%j, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.axis_max %x over %d : f32
  attn.write @g[%i, %j] = %s : f32
}

// CHECK-LABEL: attn.kernel @keys {
attn.kernel @keys {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %d = attn.over "d" to %D
  %q = attn.read @q[%i, %d] : f32
  %k = attn.read @k[%j, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.total %x over %d : f32
  attn.write @l[%i, %j] = %s : f32
}

// How many columns there are differs between the rows.
// CHECK-LABEL: attn.kernel @ragged {
attn.kernel @ragged {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.each "i" to %M
  %n = attn.read @n[%i] : index
  %most = arith.minsi %n, %N : index
  %j = attn.each "j" to %most up to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%i, %d] : f32
  %k = attn.read @k[%j, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  attn.write @r[%i, %j] = %s : f32
}

// What is walked as keys are is walked once, for all values of another feature.
// CHECK-LABEL: attn.kernel @total_of_several_features {
attn.kernel @total_of_several_features {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %X = spec.dim "X"
  %i = attn.each "i" to %M
  %j = attn.each "j" to %N
  %x = attn.axis "x" to %X
  %d = attn.over "d" to %D
  %q = attn.read @g3[%x, %i, %d] : f32
  %k = attn.read @k[%j, %d] : f32
  %y = arith.mulf %q, %k : f32
  %s = attn.total %y over %d precise : f32
  %m = arith.maximumf %s, %s : f32
  %v = attn.sum %m over %x : f32
  attn.write @t[%i, %j] = %v : f32
}
