// RUN: attndsl opt %s --passes fold-contractions
// The axis of a kernel's contractions becomes its keys; one that something else is made of does not, nor a second one.

spec.tensor @w "input" "f32" ["D", "R"]
spec.tensor @c "input" "f32" ["N", "R"]
spec.tensor @u "input" "f32" ["R", "E"]
spec.tensor @o "output" "f32" ["N", "D"]
spec.tensor @p "output" "f32" ["N", "D"]
spec.tensor @kept "output" "f32" ["N", "R"]
spec.tensor @largest "output" "f32" ["N", "D"]
spec.tensor @score "output" "f32" ["N"]

// Two contractions over one axis, one of them of what another has made, over an axis of its own.
attn.kernel @both {
  %N = spec.dim "N"
  %D = spec.dim "D"
  %R = spec.dim "R"
  %E = spec.dim "E"
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %r = attn.axis "r" to %R
  %e = attn.axis "e" to %E
  %w = attn.read @w[%d, %r] : f32
  %c = attn.read @c[%j, %r] : f32
  %u = attn.read @u[%r, %e] : f32
  %wc = arith.mulf %w, %c : f32
  %x = attn.sum %wc over %r : f32
  %uu = arith.mulf %u, %u : f32
  %norm = attn.sum %uu over %e : f32
  %nwc = arith.mulf %norm, %wc : f32
  %y = attn.sum %nwc over %r : f32
  attn.write @o[%j, %d] = %x : f32
  attn.write @p[%j, %d] = %y : f32
}

// What is summed is written, too; or its largest is asked for.
attn.kernel @kept {
  %N = spec.dim "N"
  %D = spec.dim "D"
  %R = spec.dim "R"
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %r = attn.axis "r" to %R
  %w = attn.read @w[%d, %r] : f32
  %c = attn.read @c[%j, %r] : f32
  %wc = arith.mulf %w, %c : f32
  %x = attn.sum %wc over %r : f32
  %most = attn.axis_max %wc over %r : f32
  %sum = arith.addf %x, %most : f32
  attn.write @largest[%j, %d] = %sum : f32
}

attn.kernel @written {
  %N = spec.dim "N"
  %D = spec.dim "D"
  %R = spec.dim "R"
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %D
  %r = attn.axis "r" to %R
  %w = attn.read @w[%d, %r] : f32
  %c = attn.read @c[%j, %r] : f32
  %wc = arith.mulf %w, %c : f32
  %x = attn.sum %wc over %r : f32
  attn.write @o[%j, %d] = %x : f32
  attn.write @kept[%j, %r] = %c : f32
}

// There are keys already.
attn.kernel @keys {
  %N = spec.dim "N"
  %R = spec.dim "R"
  %D = spec.dim "D"
  %i = attn.each "i" to %N
  %j = attn.over "j" to %D
  %r = attn.axis "r" to %R
  %w = attn.read @w[%j, %r] : f32
  %c = attn.read @c[%i, %r] : f32
  %wc = arith.mulf %w, %c : f32
  %x = attn.sum %wc over %r : f32
  %t = attn.max %x over %j : f32
  attn.write @score[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @both schedule {split_k = 1 : i64} {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %j = attn.each "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %r = attn.over "r" to %R
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %w = attn.read @w[%d, %r] : f32
// CHECK-NEXT:    %c = attn.read @c[%j, %r] : f32
// CHECK-NEXT:    %u = attn.read @u[%r, %e] : f32
// CHECK-NEXT:    %wc = arith.mulf %w, %c : f32
// CHECK-NEXT:    %x = attn.total %wc over %r precise : f32
// CHECK-NEXT:    %uu = arith.mulf %u, %u : f32
// CHECK-NEXT:    %norm = attn.sum %uu over %e : f32
// CHECK-NEXT:    %nwc = arith.mulf %norm, %wc : f32
// CHECK-NEXT:    %y = attn.total %nwc over %r precise : f32
// CHECK-NEXT:    attn.write @o[%j, %d] = %x : f32
// CHECK-NEXT:    attn.write @p[%j, %d] = %y : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @kept {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %j = attn.each "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %w = attn.read @w[%d, %r] : f32
// CHECK-NEXT:    %c = attn.read @c[%j, %r] : f32
// CHECK-NEXT:    %wc = arith.mulf %w, %c : f32
// CHECK-NEXT:    %x = attn.sum %wc over %r : f32
// CHECK-NEXT:    %most = attn.axis_max %wc over %r : f32
// CHECK-NEXT:    %sum = arith.addf %x, %most : f32
// CHECK-NEXT:    attn.write @largest[%j, %d] = %sum : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @written {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %j = attn.each "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %w = attn.read @w[%d, %r] : f32
// CHECK-NEXT:    %c = attn.read @c[%j, %r] : f32
// CHECK-NEXT:    %wc = arith.mulf %w, %c : f32
// CHECK-NEXT:    %x = attn.sum %wc over %r : f32
// CHECK-NEXT:    attn.write @o[%j, %d] = %x : f32
// CHECK-NEXT:    attn.write @kept[%j, %r] = %c : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @keys {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %i = attn.each "i" to %N
// CHECK-NEXT:    %j = attn.over "j" to %D
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %w = attn.read @w[%j, %r] : f32
// CHECK-NEXT:    %c = attn.read @c[%i, %r] : f32
// CHECK-NEXT:    %wc = arith.mulf %w, %c : f32
// CHECK-NEXT:    %x = attn.sum %wc over %r : f32
// CHECK-NEXT:    %t = attn.max %x over %j : f32
// CHECK-NEXT:    attn.write @score[%i] = %t : f32
// CHECK-NEXT:  }
