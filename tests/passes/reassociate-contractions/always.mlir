// RUN: attndsl opt %s --passes 'reassociate-contractions{always=true}'
// The other form runs wherever it may, so that it is this that the interpreter holds to what was there before.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @c "input" "f32" ["N", "R"]
spec.tensor @wk "input" "f32" ["H", "D", "R"]
spec.tensor @wv "input" "f32" ["H", "E", "R"]
spec.tensor @o "output" "f32" ["H", "M", "E"]
spec.tensor @lse "output" "f32" ["H", "M"]

attn.kernel @latent {
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
  %seen = arith.cmpi sle, %j, %i : index
  %q = attn.read @q[%h, %i, %d] : f32
  %c = attn.read @c[%j, %r] : f32
  %wk = attn.read @wk[%h, %d, %r] : f32
  %wkc = arith.mulf %wk, %c : f32
  %k = attn.sum %wkc over %r : f32
  %qk = arith.mulf %q, %k : f32
  %dot = attn.sum %qk over %d : f32
  %small = arith.constant 0.05 : f32
  %s = arith.mulf %dot, %small : f32
  %wv = attn.read @wv[%h, %e, %r] : f32
  %wvc = arith.mulf %wv, %c : f32
  %v = attn.sum %wvc over %r : f32
  %t = attn.softmax %s, %v over %j where %seen : f32
  %l = attn.logsumexp %s over %j where %seen : f32
  attn.write @o[%h, %i, %e] = %t : f32
  attn.write @lse[%h, %i] = %l : f32
}

// CHECK-LABEL: attn.kernel @latent_reassociated when "D > 0 and R > 0" {
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %h = attn.each "h" to %H
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %seen = arith.cmpi sle, %j, %i : index
// CHECK-NEXT:    %q = attn.read @q[%h, %i, %d] : f32
// CHECK-NEXT:    %c = attn.read @c[%j, %r] : f32
// CHECK-NEXT:    %wk = attn.read @wk[%h, %d, %r] : f32
// CHECK-NEXT:    %0 = arith.mulf %q, %wk : f32
// CHECK-NEXT:    %1 = attn.sum %0 over %d : f32
// CHECK-NEXT:    %2 = arith.mulf %c, %1 : f32
// CHECK-NEXT:    %dot = attn.sum %2 over %r : f32
// CHECK-NEXT:    %small = arith.constant 5.000000e-02 : f32
// CHECK-NEXT:    %s = arith.mulf %dot, %small : f32
// CHECK-NEXT:    %wv = attn.read @wv[%h, %e, %r] : f32
// CHECK-NEXT:    %3 = attn.softmax %s, %c over %j where %seen : f32
// CHECK-NEXT:    %4 = arith.mulf %wv, %3 : f32
// CHECK-NEXT:    %5 = attn.sum %4 over %r : f32
// CHECK-NEXT:    %6 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    %any_key = attn.softmax %s, %6 over %j where %seen : f32
// CHECK-NEXT:    %7 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %8 = arith.cmpf une, %any_key, %7 : f32
// CHECK-NEXT:    %9 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %t = arith.select %8, %5, %9 : f32
// CHECK-NEXT:    %l = attn.logsumexp %s over %j where %seen : f32
// CHECK-NEXT:    attn.write @o[%h, %i, %e] = %t : f32
// CHECK-NEXT:    attn.write @lse[%h, %i] = %l : f32
// CHECK-NEXT:  }
