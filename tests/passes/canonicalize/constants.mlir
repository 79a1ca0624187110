// RUN: attndsl opt %s --passes canonicalize
// Constants are computed and moved to the right, and what does nothing goes.

spec.tensor @x "input" "f32" ["M + 2"]
spec.tensor @o "output" "f32" ["M", "8"]

// CHECK-LABEL: attn.kernel @folds {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %place = arith.constant 3 : index
// CHECK-NEXT:    %inside = arith.constant false
// CHECK-NEXT:    %real = arith.constant -7.000000e+00 : f32
// CHECK-NEXT:    attn.write @o[%i, %place] = %real where %inside : f32
// CHECK-NEXT:  }
attn.kernel @folds {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %minus = arith.constant -7 : index
  %quotient = arith.floordivsi %minus, %two : index
  %rest = spec.mod %minus, %two
  %sum = arith.addi %quotient, %rest : index
  %product = arith.muli %sum, %two : index
  %place = arith.maxsi %product, %three : index
  %inside = arith.cmpi slt, %three, %two : index
  %real = spec.to_float %minus : f32
  attn.write @o[%i, %place] = %real where %inside : f32
}

// CHECK-LABEL: attn.kernel @a_division_by_zero_stays {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %two = arith.constant 2 : index
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %quotient = arith.floordivsi %two, %zero : index
// CHECK-NEXT:    %rest = spec.mod %two, %zero
// CHECK-NEXT:    %real = spec.to_float %rest : f32
// CHECK-NEXT:    attn.write @o[%i, %quotient] = %real : f32
// CHECK-NEXT:  }
attn.kernel @a_division_by_zero_stays {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %two = arith.constant 2 : index
  %zero = arith.constant 0 : index
  %quotient = arith.floordivsi %two, %zero : index
  %rest = spec.mod %two, %zero
  %real = spec.to_float %rest : f32
  attn.write @o[%i, %quotient] = %real : f32
}

// CHECK-LABEL: attn.kernel @what_overflows_stays {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %large = arith.constant 9223372036854775807 : index
// CHECK-NEXT:    %sum = arith.addi %large, %large : index
// CHECK-NEXT:    %one = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    attn.write @o[%i, %sum] = %one : f32
// CHECK-NEXT:  }
attn.kernel @what_overflows_stays {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %large = arith.constant 9223372036854775807 : index
  %sum = arith.addi %large, %large : index
  %one = arith.constant 1.0 : f32
  attn.write @o[%i, %sum] = %one : f32
}

// CHECK-LABEL: attn.kernel @constants_last_identities_and_zeros {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %two = arith.constant 2 : index
// CHECK-NEXT:    %a = arith.addi %i, %two : index
// CHECK-NEXT:    %place = arith.constant 0 : index
// CHECK-NEXT:    %x = attn.read @x[%a] : f32
// CHECK-NEXT:    attn.write @o[%i, %place] = %x : f32
// CHECK-NEXT:  }
attn.kernel @constants_last_identities_and_zeros {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %a = arith.addi %two, %i : index
  %b = arith.muli %a, %one : index
  %c = arith.subi %b, %zero : index
  %d = arith.floordivsi %c, %one : index
  %e = spec.mod %i, %one
  %f = arith.subi %i, %i : index
  %g = arith.muli %zero, %i : index
  %h = arith.addi %e, %f : index
  %place = arith.addi %h, %g : index
  %x = attn.read @x[%d] : f32
  %real = arith.constant 1.0 : f32
  %y = arith.mulf %real, %x : f32
  %z = arith.divf %y, %real : f32
  attn.write @o[%i, %place] = %z : f32
}

// CHECK-LABEL: attn.kernel @real_zeros_stay {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %place = arith.constant 0 : index
// CHECK-NEXT:    %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %x = attn.read @x[%i] : f32
// CHECK-NEXT:    %y = arith.mulf %x, %zero : f32
// CHECK-NEXT:    %z = arith.addf %y, %zero : f32
// CHECK-NEXT:    attn.write @o[%i, %place] = %z : f32
// CHECK-NEXT:  }
attn.kernel @real_zeros_stay {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %place = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = attn.read @x[%i] : f32
  %y = arith.mulf %x, %zero : f32
  %z = arith.addf %y, %zero : f32
  attn.write @o[%i, %place] = %z : f32
}
