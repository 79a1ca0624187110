// RUN: attndsl opt %s --passes simplify-indices,canonicalize,cse
// A minimum or maximum is one of its operands where that one is known to be.

spec.tensor @x "input" "f32" ["M"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: attn.kernel @settled {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %x = attn.read @x[%i] : f32
// CHECK-NEXT:    attn.write @o[%i] = %x : f32
// CHECK-NEXT:  }
attn.kernel @settled {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %next = arith.addi %i, %one : index
  %a = arith.minsi %next, %M : index
  %b = arith.maxsi %a, %zero : index
  %place = arith.subi %b, %one : index
  %x = attn.read @x[%place] : f32
  attn.write @o[%i] = %x : f32
}

// CHECK-LABEL: attn.kernel @not_settled {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %one = arith.constant 1 : index
// CHECK-NEXT:    %before = arith.subi %i, %one : index
// CHECK-NEXT:    %place = arith.maxsi %before, %zero : index
// CHECK-NEXT:    %x = attn.read @x[%place] : f32
// CHECK-NEXT:    attn.write @o[%i] = %x : f32
// CHECK-NEXT:  }
attn.kernel @not_settled {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %before = arith.subi %i, %one : index
  %place = arith.maxsi %before, %zero : index
  %x = attn.read @x[%place] : f32
  attn.write @o[%i] = %x : f32
}
