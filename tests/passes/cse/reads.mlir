// RUN: attndsl opt %s --passes cse
// Equal reads are one; reads under other guards are not, and neither are index variables.

spec.tensor @x "input" "f32" ["M"]
spec.tensor @o "output" "f32" ["M", "M"]

// CHECK-LABEL: attn.kernel @reads {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %k = attn.each "k" to %M
// CHECK-NEXT:    %before = arith.cmpi slt, %i, %k : index
// CHECK-NEXT:    %a = attn.read @x[%i] : f32
// CHECK-NEXT:    %c = attn.read @x[%i] where %before : f32
// CHECK-NEXT:    %d = attn.read @x[%k] : f32
// CHECK-NEXT:    %ab = arith.addf %a, %a : f32
// CHECK-NEXT:    %cd = arith.addf %c, %d : f32
// CHECK-NEXT:    %sum = arith.addf %ab, %cd : f32
// CHECK-NEXT:    attn.write @o[%i, %k] = %sum : f32
// CHECK-NEXT:  }
attn.kernel @reads {
  %M = spec.dim "M"
  %M2 = spec.dim "M"
  %i = attn.each "i" to %M
  %k = attn.each "k" to %M2
  %before = arith.cmpi slt, %i, %k : index
  %a = attn.read @x[%i] : f32
  %b = attn.read @x[%i] : f32
  %c = attn.read @x[%i] where %before : f32
  %d = attn.read @x[%k] : f32
  %ab = arith.addf %a, %b : f32
  %cd = arith.addf %c, %d : f32
  %sum = arith.addf %ab, %cd : f32
  attn.write @o[%i, %k] = %sum : f32
}
