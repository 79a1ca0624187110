// RUN: attndsl opt %s --passes materialise
// Keys that several rows share are made once, in a kernel of their own.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @c "input" "f32" ["B", "N", "R"]
spec.tensor @n "input" "i32" ["B"]
spec.tensor @wk "input" "f32" ["H", "D", "R"]
spec.tensor @wv "input" "f32" ["E", "R"]
spec.tensor @o "output" "f32" ["B", "H", "M", "E"]
spec.tensor @windowed_o "output" "f32" ["B", "H", "M", "E"]

// Keys of a head, and values that all heads share, as many as the request has.
attn.kernel @keys {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %R = spec.dim "R"
  %E = spec.dim "E"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %n = attn.read @n[%b] : index
  %stop = arith.minsi %n, %N : index
  %j = attn.over "j" to %stop up to %N
  %d = attn.axis "d" to %D
  %r = attn.axis "r" to %R
  %e = attn.axis "e" to %E
  %q = attn.read @q[%h, %i, %d] : f32
  %c = attn.read @c[%b, %j, %r] : f32
  %wk = attn.read @wk[%h, %d, %r] : f32
  %wkc = arith.mulf %wk, %c : f32
  %k = attn.sum %wkc over %r : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %wv = attn.read @wv[%e, %r] : f32
  %wvc = arith.mulf %wv, %c : f32
  %v = attn.sum %wvc over %r : f32
  %t = attn.softmax %s, %v over %j : f32
  attn.write @o[%b, %h, %i, %e] = %t : f32
}

// Each row sees keys from its own on: those before the first row's are seen by none, and are not made.
attn.kernel @windowed {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %R = spec.dim "R"
  %E = spec.dim "E"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %r = attn.axis "r" to %R
  %e = attn.axis "e" to %E
  %seen = arith.cmpi sge, %j, %i : index
  %q = attn.read @q[%h, %i, %d] : f32
  %c = attn.read @c[%b, %j, %r] : f32
  %wk = attn.read @wk[%h, %d, %r] : f32
  %wkc = arith.mulf %wk, %c : f32
  %k = attn.sum %wkc over %r : f32
  %qk = arith.mulf %q, %k : f32
  %s = attn.sum %qk over %d : f32
  %zero = arith.constant 0 : index
  %x = attn.read @wv[%e, %zero] : f32
  %t = attn.softmax %s, %x over %j where %seen : f32
  attn.write @windowed_o[%b, %h, %i, %e] = %t : f32
}

// CHECK: spec.tensor @k "workspace" "f32" ["B", "H", "N", "D"]
// CHECK-LABEL: attn.kernel @keys_k {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %h = attn.grid "h" to %H
// CHECK-NEXT:    %n = attn.read @n[%b] : index
// CHECK-NEXT:    %stop = arith.minsi %n, %N : index
// CHECK-NEXT:    %j = attn.each "j" to %stop up to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %c = attn.read @c[%b, %j, %r] : f32
// CHECK-NEXT:    %wk = attn.read @wk[%h, %d, %r] : f32
// CHECK-NEXT:    %wkc = arith.mulf %wk, %c : f32
// CHECK-NEXT:    %k = attn.sum %wkc over %r : f32
// CHECK-NEXT:    attn.write @k[%b, %h, %j, %d] = %k : f32
// CHECK-NEXT:  }
// CHECK: spec.tensor @v "workspace" "f32" ["B", "N", "E"]
// CHECK-LABEL: attn.kernel @keys_v {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %n = attn.read @n[%b] : index
// CHECK-NEXT:    %stop = arith.minsi %n, %N : index
// CHECK-NEXT:    %j = attn.each "j" to %stop up to %N
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %c = attn.read @c[%b, %j, %r] : f32
// CHECK-NEXT:    %wv = attn.read @wv[%e, %r] : f32
// CHECK-NEXT:    %wvc = arith.mulf %wv, %c : f32
// CHECK-NEXT:    %v = attn.sum %wvc over %r : f32
// CHECK-NEXT:    attn.write @v[%b, %j, %e] = %v : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @keys {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %b = attn.each "b" to %B
// CHECK-NEXT:    %h = attn.each "h" to %H
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %n = attn.read @n[%b] : index
// CHECK-NEXT:    %stop = arith.minsi %n, %N : index
// CHECK-NEXT:    %j = attn.over "j" to %stop up to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %q = attn.read @q[%h, %i, %d] : f32
// CHECK-NEXT:    %k = attn.read @k[%b, %h, %j, %d] : f32
// CHECK-NEXT:    %qk = arith.mulf %q, %k : f32
// CHECK-NEXT:    %s = attn.sum %qk over %d : f32
// CHECK-NEXT:    %v = attn.read @v[%b, %j, %e] : f32
// CHECK-NEXT:    %t = attn.softmax %s, %v over %j : f32
// CHECK-NEXT:    attn.write @o[%b, %h, %i, %e] = %t : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @windowed {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %R = spec.dim "R"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %b = attn.each "b" to %B
// CHECK-NEXT:    %h = attn.each "h" to %H
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %r = attn.axis "r" to %R
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %seen = arith.cmpi sge, %j, %i : index
// CHECK-NEXT:    %q = attn.read @q[%h, %i, %d] : f32
// CHECK-NEXT:    %c = attn.read @c[%b, %j, %r] : f32
// CHECK-NEXT:    %wk = attn.read @wk[%h, %d, %r] : f32
// CHECK-NEXT:    %wkc = arith.mulf %wk, %c : f32
// CHECK-NEXT:    %k = attn.sum %wkc over %r : f32
// CHECK-NEXT:    %qk = arith.mulf %q, %k : f32
// CHECK-NEXT:    %s = attn.sum %qk over %d : f32
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %x = attn.read @wv[%e, %zero] : f32
// CHECK-NEXT:    %t = attn.softmax %s, %x over %j where %seen : f32
// CHECK-NEXT:    attn.write @windowed_o[%b, %h, %i, %e] = %t : f32
// CHECK-NEXT:  }
