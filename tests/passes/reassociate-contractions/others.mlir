// RUN: attndsl opt %s --passes 'reassociate-contractions{always=true}'
// A sum over keys of terms with other factors, at extents that are known; what is no such contraction stays.

spec.tensor @p "input" "f32" ["M", "N"]
spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @scale "input" "f32" ["N"]
spec.tensor @low "input" "f32" ["N", "4"]
spec.tensor @w "input" "f32" ["E", "4"]
spec.tensor @o "output" "f32" ["M", "E"]
spec.tensor @o2 "output" "f32" ["M"]
spec.tensor @o3 "output" "f32" ["M"]

attn.kernel @summed {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %four = arith.constant 4 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %r = attn.axis "r" to %four
  %e = attn.axis "e" to %E
  %seen = arith.cmpi slt, %i, %j : index
  %p = attn.read @p[%i, %j] : f32
  %scale = attn.read @scale[%j] : f32
  %low = attn.read @low[%j, %r] : f32
  %w = attn.read @w[%e, %r] : f32
  %wl = arith.mulf %low, %w : f32
  %v = attn.sum %wl over %r : f32
  %vs = arith.mulf %v, %scale : f32
  %term = arith.mulf %p, %vs : f32
  %t = attn.total %term over %j where %seen : f32
  attn.write @o[%i, %e] = %t : f32
}

// A query that is projected, of which no half is of the keys alone: it is made once a row as it stands.
attn.kernel @of_the_row {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %E = spec.dim "E"
  %four = arith.constant 4 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %r = attn.axis "r" to %four
  %d = attn.axis "d" to %D
  %q = attn.read @q[%i, %d] : f32
  %low = attn.read @low[%j, %r] : f32
  %w = attn.read @w[%d, %r] : f32
  %qw = arith.mulf %q, %w : f32
  %rotated = attn.sum %qw over %d : f32
  %x = arith.mulf %rotated, %low : f32
  %s = attn.sum %x over %r : f32
  %t = attn.max %s over %j : f32
  attn.write @o2[%i] = %t : f32
}

// A key that another value is made of, too, would have to be made all the same.
attn.kernel @used_twice {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %four = arith.constant 4 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %r = attn.axis "r" to %four
  %d = attn.axis "d" to %D
  %q = attn.read @q[%i, %d] : f32
  %low = attn.read @low[%j, %r] : f32
  %w = attn.read @w[%d, %r] : f32
  %wl = arith.mulf %w, %low : f32
  %k = attn.sum %wl over %r : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %kk = arith.mulf %k, %k : f32
  %norm = attn.sum %kk over %d : f32
  %x = arith.mulf %s, %norm : f32
  %t = attn.max %x over %j : f32
  attn.write @o3[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @summed {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %four = arith.constant 4 : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %r = attn.axis "r" to %four
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %seen = arith.cmpi slt, %i, %j : index
// CHECK-NEXT:    %p = attn.read @p[%i, %j] : f32
// CHECK-NEXT:    %scale = attn.read @scale[%j] : f32
// CHECK-NEXT:    %low = attn.read @low[%j, %r] : f32
// CHECK-NEXT:    %w = attn.read @w[%e, %r] : f32
// CHECK-NEXT:    %0 = arith.mulf %p, %scale : f32
// CHECK-NEXT:    %1 = arith.mulf %0, %low : f32
// CHECK-NEXT:    %2 = attn.total %1 over %j where %seen : f32
// CHECK-NEXT:    %3 = arith.mulf %w, %2 : f32
// CHECK-NEXT:    %4 = attn.sum %3 over %r : f32
// CHECK-NEXT:    %5 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    %any_key = attn.total %5 over %j where %seen : f32
// CHECK-NEXT:    %6 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %7 = arith.cmpf une, %any_key, %6 : f32
// CHECK-NEXT:    %8 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %t = arith.select %7, %4, %8 : f32
// CHECK-NEXT:    attn.write @o[%i, %e] = %t : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @of_the_row {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %four = arith.constant 4 : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %r = attn.axis "r" to %four
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %q = attn.read @q[%i, %d] : f32
// CHECK-NEXT:    %low = attn.read @low[%j, %r] : f32
// CHECK-NEXT:    %w = attn.read @w[%d, %r] : f32
// CHECK-NEXT:    %qw = arith.mulf %q, %w : f32
// CHECK-NEXT:    %rotated = attn.sum %qw over %d : f32
// CHECK-NEXT:    %x = arith.mulf %rotated, %low : f32
// CHECK-NEXT:    %s = attn.sum %x over %r : f32
// CHECK-NEXT:    %t = attn.max %s over %j : f32
// CHECK-NEXT:    attn.write @o2[%i] = %t : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @used_twice {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %four = arith.constant 4 : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %r = attn.axis "r" to %four
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %q = attn.read @q[%i, %d] : f32
// CHECK-NEXT:    %low = attn.read @low[%j, %r] : f32
// CHECK-NEXT:    %w = attn.read @w[%d, %r] : f32
// CHECK-NEXT:    %wl = arith.mulf %w, %low : f32
// CHECK-NEXT:    %k = attn.sum %wl over %r : f32
// CHECK-NEXT:    %qk = arith.mulf %q, %k : f32
// CHECK-NEXT:    %s = attn.sum %qk over %d : f32
// CHECK-NEXT:    %kk = arith.mulf %k, %k : f32
// CHECK-NEXT:    %norm = attn.sum %kk over %d : f32
// CHECK-NEXT:    %x = arith.mulf %s, %norm : f32
// CHECK-NEXT:    %t = attn.max %x over %j : f32
// CHECK-NEXT:    attn.write @o3[%i] = %t : f32
// CHECK-NEXT:  }
