// RUN: attndsl opt %s --passes simplify-indices,canonicalize,cse
// A read that is found to depend on no key asks whether there is one.

spec.tensor @x "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: attn.kernel @first {
// CHECK:         %j = attn.over "j" to %few
// CHECK-NEXT:    %half = arith.constant 0 : index
// CHECK-NEXT:    %{{.*}} = arith.cmpi slt, %half, %few : index
// CHECK-NEXT:    %x = attn.read @x[%half] where %{{.*}} : f32
attn.kernel @first {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %few = arith.minsi %one, %N : index
  %j = attn.over "j" to %few
  %half = arith.floordivsi %j, %two : index
  %x = attn.read @x[%half] : f32
  %total = attn.total %x over %j : f32
  attn.write @o[%i] = %total : f32
}

spec.tensor @y "input" "f32" ["N", "D"]

// CHECK-LABEL: attn.kernel @corner {
// CHECK:         %y = attn.read @y[%half, %half] where %{{.*}} : f32
attn.kernel @corner {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.each "i" to %M
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %few = arith.minsi %one, %N : index
  %j = attn.over "j" to %few
  %thin = arith.minsi %one, %D : index
  %d = attn.axis "d" to %thin
  %half = arith.floordivsi %j, %two : index
  %edge = arith.floordivsi %d, %two : index
  %y = attn.read @y[%half, %edge] : f32
  %feature = attn.sum %y over %d : f32
  %total = attn.total %feature over %j : f32
  attn.write @o[%i] = %total : f32
}
