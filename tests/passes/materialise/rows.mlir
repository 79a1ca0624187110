// RUN: attndsl opt %s --passes materialise
// Products with a matrix that differs from row to row of a tile are made in kernels of their own, before and behind.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @c "input" "f32" ["N", "R"]
spec.tensor @wk "input" "f32" ["H", "D", "R"]
spec.tensor @wv "input" "f32" ["H", "E", "R"]
spec.tensor @o "output" "f32" ["H", "M", "E"]
spec.tensor @lse "output" "f32" ["H", "M"]
spec.tensor @shared_o "output" "f32" ["H", "M", "R"]

// The heads share a tile, and each has matrices of its own: of the queries before, of the results behind.
attn.kernel @heads schedule {tile_rows = 4 : i64} {
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %R = spec.dim "R"
  %E = spec.dim "E"
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %r = attn.axis "r" to %R
  %e = attn.axis "e" to %E
  %q = attn.read @q[%h, %i, %d] : f32
  %c = attn.read @c[%j, %r] : f32
  %wk = attn.read @wk[%h, %d, %r] : f32
  %qwk = arith.mulf %q, %wk : f32
  %absorbed = attn.sum %qwk over %d : f32
  %cq = arith.mulf %c, %absorbed : f32
  %s = attn.sum %cq over %r : f32
  %u = attn.softmax %s, %c over %j : f32
  %l = attn.logsumexp %s over %j : f32
  %wv = attn.read @wv[%h, %e, %r] : f32
  %wvu = arith.mulf %wv, %u : f32
  %t = attn.sum %wvu over %r : f32
  %tl = arith.mulf %t, %l : f32
  attn.write @o[%h, %i, %e] = %tl : f32
  attn.write @lse[%h, %i] = %l : f32
}

// All rows multiply with one matrix: a product of the tile, which is made once a row where it stands.
attn.kernel @shared {
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %R = spec.dim "R"
  %zero = arith.constant 0 : index
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %r = attn.axis "r" to %R
  %q = attn.read @q[%h, %i, %d] : f32
  %c = attn.read @c[%j, %r] : f32
  %w = attn.read @wk[%zero, %d, %r] : f32
  %qw = arith.mulf %q, %w : f32
  %a = attn.sum %qw over %d : f32
  %cq = arith.mulf %c, %a : f32
  %s = attn.sum %cq over %r : f32
  %u = attn.softmax %s, %c over %j : f32
  attn.write @shared_o[%h, %i, %r] = %u : f32
}

// CHECK: spec.tensor @absorbed "workspace" "f32" ["H", "M", "R"]
// CHECK-LABEL: attn.kernel @heads_absorbed {
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %h = attn.grid "h" to %H
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %q = attn.read @q[%h, %i, %d] : f32
// CHECK-NEXT:    %wk = attn.read @wk[%h, %d, %r] : f32
// CHECK-NEXT:    %qwk = arith.mulf %q, %wk : f32
// CHECK-NEXT:    %absorbed = attn.sum %qwk over %d : f32
// CHECK-NEXT:    attn.write @absorbed[%h, %i, %r] = %absorbed : f32
// CHECK-NEXT:  }
// CHECK: spec.tensor @u "workspace" "f32" ["H", "M", "R"]
// CHECK: spec.tensor @l "workspace" "f32" ["H", "M"]
// CHECK-LABEL: attn.kernel @heads schedule {tile_rows = 4 : i64} {
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %h = attn.each "h" to %H
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %c = attn.read @c[%j, %r] : f32
// CHECK-NEXT:    %absorbed = attn.read @absorbed[%h, %i, %r] : f32
// CHECK-NEXT:    %cq = arith.mulf %c, %absorbed : f32
// CHECK-NEXT:    %s = attn.sum %cq over %r : f32
// CHECK-NEXT:    %u = attn.softmax %s, %c over %j : f32
// CHECK-NEXT:    %l = attn.logsumexp %s over %j : f32
// CHECK-NEXT:    attn.write @lse[%h, %i] = %l : f32
// CHECK-NEXT:    attn.write @u[%h, %i, %r] = %u : f32
// CHECK-NEXT:    attn.write @l[%h, %i] = %l : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @heads_results {
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %h = attn.grid "h" to %H
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %u = attn.read @u[%h, %i, %r] : f32
// CHECK-NEXT:    %l = attn.read @l[%h, %i] : f32
// CHECK-NEXT:    %wv = attn.read @wv[%h, %e, %r] : f32
// CHECK-NEXT:    %wvu = arith.mulf %wv, %u : f32
// CHECK-NEXT:    %t = attn.sum %wvu over %r : f32
// CHECK-NEXT:    %tl = arith.mulf %t, %l : f32
// CHECK-NEXT:    attn.write @o[%h, %i, %e] = %tl : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @shared {
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %h = attn.each "h" to %H
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %q = attn.read @q[%h, %i, %d] : f32
// CHECK-NEXT:    %c = attn.read @c[%j, %r] : f32
// CHECK-NEXT:    %w = attn.read @wk[%zero, %d, %r] : f32
// CHECK-NEXT:    %qw = arith.mulf %q, %w : f32
// CHECK-NEXT:    %a = attn.sum %qw over %d : f32
// CHECK-NEXT:    %cq = arith.mulf %c, %a : f32
// CHECK-NEXT:    %s = attn.sum %cq over %r : f32
// CHECK-NEXT:    %u = attn.softmax %s, %c over %j : f32
// CHECK-NEXT:    attn.write @shared_o[%h, %i, %r] = %u : f32
// CHECK-NEXT:  }
