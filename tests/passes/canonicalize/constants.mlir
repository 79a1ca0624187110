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

// CHECK-LABEL: attn.kernel @what_overflows_wraps {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %sum = arith.constant 4 : index
// CHECK-NEXT:    %one = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    attn.write @o[%i, %sum] = %one : f32
// CHECK-NEXT:  }
attn.kernel @what_overflows_wraps {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %large = arith.constant 9223372036854775807 : index
  %three = arith.constant 3 : index
  %double = arith.addi %large, %large : index
  %shifted = arith.shli %three, %three : index
  %half = arith.shrsi %shifted, %three : index
  %twice = arith.muli %half, %double : index
  %ten = arith.constant 10 : index
  %sum = arith.addi %twice, %ten : index
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

// CHECK-LABEL: attn.kernel @reals_are_rounded_once {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %place = arith.constant 0 : index
// CHECK-NEXT:    %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %third = arith.constant 0.471404523 : f32
// CHECK-NEXT:    %nothing = arith.divf %zero, %zero : f32
// CHECK-NEXT:    %x = attn.read @x[%i] : f32
// CHECK-NEXT:    %y = arith.mulf %x, %third : f32
// CHECK-NEXT:    %z = arith.addf %y, %nothing : f32
// CHECK-NEXT:    attn.write @o[%i, %place] = %z : f32
// CHECK-NEXT:  }
attn.kernel @reals_are_rounded_once {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %place = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %zero = arith.constant 0.0 : f32
  %root = math.sqrt %two : f32
  %third = arith.divf %root, %three : f32
  %less = arith.cmpf olt, %third, %zero : f32
  %chosen = arith.select %less, %two, %third : f32
  %nothing = arith.divf %zero, %zero : f32
  %x = attn.read @x[%i] : f32
  %y = arith.mulf %x, %chosen : f32
  %z = arith.addf %y, %nothing : f32
  attn.write @o[%i, %place] = %z : f32
}

// CHECK-LABEL: attn.kernel @powers_of_two_divide_by_multiplying {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %place = arith.constant 0 : index
// CHECK-NEXT:    %six = arith.constant 6.000000e+00 : f32
// CHECK-NEXT:    %small = arith.constant 1.000000e-38 : f32
// CHECK-NEXT:    %x = attn.read @x[%i] : f32
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant -1.250000e-01 : f32
// CHECK-NEXT:    %a = arith.mulf %x, [[V0]] : f32
// CHECK-NEXT:    %b = arith.divf %a, %six : f32
// CHECK-NEXT:    %c = arith.divf %b, %small : f32
// CHECK-NEXT:    attn.write @o[%i, %place] = %c : f32
// CHECK-NEXT:  }
attn.kernel @powers_of_two_divide_by_multiplying {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %place = arith.constant 0 : index
  %eight = arith.constant -8.0 : f32
  %six = arith.constant 6.0 : f32
  %small = arith.constant 1.0e-38 : f32
  %x = attn.read @x[%i] : f32
  %a = arith.divf %x, %eight : f32
  %b = arith.divf %a, %six : f32
  %c = arith.divf %b, %small : f32
  attn.write @o[%i, %place] = %c : f32
}

// CHECK-LABEL: attn.kernel @constants_are_added_once {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %place = arith.constant 0 : index
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 2 : index
// CHECK-NEXT:    %b = arith.addi %i, [[V0]] : index
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 2 : index
// CHECK-NEXT:    %d = arith.subi %i, [[V1]] : index
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 4 : index
// CHECK-NEXT:    %e = arith.subi %i, [[V2]] : index
// CHECK-NEXT:    %g = arith.muli %d, %e : index
// CHECK-NEXT:    %h = arith.muli %g, %b : index
// CHECK-NEXT:    %y = spec.to_float %h : f32
// CHECK-NEXT:    attn.write @o[%i, %place] = %y : f32
// CHECK-NEXT:  }
attn.kernel @constants_are_added_once {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %place = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %a = arith.addi %i, %three : index
  %b = arith.subi %a, %one : index
  %c = arith.subi %i, %three : index
  %d = arith.addi %c, %one : index
  %e = arith.subi %c, %one : index
  %f = arith.addi %c, %three : index
  %g = arith.muli %d, %e : index
  %h = arith.muli %g, %b : index
  %y = spec.to_float %h : f32
  attn.write @o[%f, %place] = %y : f32
}
