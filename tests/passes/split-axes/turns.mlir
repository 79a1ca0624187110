// RUN: attndsl opt %s --passes split-axes,canonicalize,cse,simplify-indices,canonicalize,cse
// An axis is cut where a condition on it turns, so that none is left; not where that leaves pieces to be padded.

spec.tensor @q "input" "f32" ["N", "64"]
spec.tensor @o "output" "f32" ["N"]

// CHECK-LABEL: attn.kernel @halves {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c32 = arith.constant 32 : index
// CHECK-NEXT:    %j = attn.each "j" to %N
// CHECK-NEXT:    %d = attn.axis "d_0" to %c32
// CHECK-NEXT:    %d_1 = attn.axis "d_32" to %c32
// CHECK-NEXT:    %right = arith.addi %d, %c32 : index
// CHECK-NEXT:    %a = attn.read @q[%j, %right] : f32
// CHECK-NEXT:    %b = attn.read @q[%j, %d_1] : f32
// CHECK-NEXT:    %turned = arith.negf %a : f32
// CHECK-NEXT:    [[V0:%\d+]] = attn.sum %turned over %d : f32
// CHECK-NEXT:    [[V1:%\d+]] = attn.sum %b over %d_1 : f32
// CHECK-NEXT:    %s = arith.addf [[V0]], [[V1]] : f32
// CHECK-NEXT:    attn.write @o[%j] = %s : f32
// CHECK-NEXT:  }
attn.kernel @halves {
  %N = spec.dim "N"
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %c64
  %low = arith.cmpi slt, %d, %c32 : index
  %high = arith.cmpi sge, %d, %c32 : index
  %right = arith.addi %d, %c32 : index
  %left = arith.subi %d, %c32 : index
  %a = attn.read @q[%j, %right] where %low : f32
  %b = attn.read @q[%j, %left] where %high : f32
  %turned = arith.negf %a : f32
  %x = arith.select %low, %turned, %b : f32
  %s = attn.sum %x over %d : f32
  attn.write @o[%j] = %s : f32
}

// CHECK-LABEL: attn.kernel @a_turn_at_no_power_of_two {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c64 = arith.constant 64 : index
// CHECK-NEXT:    %c20 = arith.constant 20 : index
// CHECK-NEXT:    %j = attn.each "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %c64
// CHECK-NEXT:    %low = arith.cmpi slt, %d, %c20 : index
// CHECK-NEXT:    %q = attn.read @q[%j, %d] where %low : f32
// CHECK-NEXT:    %s = attn.sum %q over %d : f32
// CHECK-NEXT:    attn.write @o[%j] = %s : f32
// CHECK-NEXT:  }
attn.kernel @a_turn_at_no_power_of_two {
  %N = spec.dim "N"
  %c64 = arith.constant 64 : index
  %c20 = arith.constant 20 : index
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %c64
  %low = arith.cmpi slt, %d, %c20 : index
  %q = attn.read @q[%j, %d] where %low : f32
  %s = attn.sum %q over %d : f32
  attn.write @o[%j] = %s : f32
}
