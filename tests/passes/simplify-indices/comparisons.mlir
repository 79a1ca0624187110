// RUN: attndsl opt %s --passes simplify-indices,canonicalize,cse
// A range check goes where the ranges of its variables settle it, and only there.

spec.tensor @x "input" "f32" ["M"]
spec.tensor @n "input" "i32" ["M"]
spec.tensor @o "output" "f32" ["M", "N"]

// CHECK-LABEL: attn.kernel @inside {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %k = attn.each "k" to %N
// CHECK-NEXT:    %x = attn.read @x[%i] : f32
// CHECK-NEXT:    attn.write @o[%i, %k] = %x : f32
// CHECK-NEXT:  }
attn.kernel @inside {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %k = attn.each "k" to %N
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %low = arith.cmpi sge, %i, %zero : index
  %high = arith.cmpi sgt, %M, %i : index
  %next = arith.addi %k, %one : index
  %below = arith.cmpi sle, %next, %N : index
  %a = arith.andi %low, %high : i1
  %b = arith.andi %a, %below : i1
  %x = attn.read @x[%i] where %b : f32
  attn.write @o[%i, %k] = %x : f32
}

// CHECK-LABEL: attn.kernel @outside {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %k = attn.each "k" to %N
// CHECK-NEXT:    %x = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    attn.write @o[%i, %k] = %x : f32
// CHECK-NEXT:  }
attn.kernel @outside {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %k = attn.each "k" to %N
  %moved = arith.addi %i, %M : index
  %never = arith.cmpi slt, %moved, %M : index
  %x = attn.read @x[%moved] where %never : f32
  attn.write @o[%i, %k] = %x : f32
}

// CHECK-LABEL: attn.kernel @must_stay {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %k = attn.each "k" to %N
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %one = arith.constant 1 : index
// CHECK-NEXT:    %next = arith.addi %i, %one : index
// CHECK-NEXT:    %beyond = arith.cmpi slt, %next, %M : index
// CHECK-NEXT:    %before = arith.subi %i, %one : index
// CHECK-NEXT:    %negative = arith.cmpi sle, %zero, %before : index
// CHECK-NEXT:    %other = arith.cmpi slt, %k, %M : index
// CHECK-NEXT:    %a = arith.andi %beyond, %negative : i1
// CHECK-NEXT:    %b = arith.andi %a, %other : i1
// CHECK-NEXT:    %x = attn.read @x[%next] where %b : f32
// CHECK-NEXT:    attn.write @o[%i, %k] = %x : f32
// CHECK-NEXT:  }
attn.kernel @must_stay {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %k = attn.each "k" to %N
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %next = arith.addi %i, %one : index
  %beyond = arith.cmpi slt, %next, %M : index
  %before = arith.subi %i, %one : index
  %negative = arith.cmpi sle, %zero, %before : index
  %other = arith.cmpi slt, %k, %M : index
  %a = arith.andi %beyond, %negative : i1
  %b = arith.andi %a, %other : i1
  %x = attn.read @x[%next] where %b : f32
  attn.write @o[%i, %k] = %x : f32
}

// CHECK-LABEL: attn.kernel @data_is_not_trusted {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %n = attn.read @n[%i] : index
// CHECK-NEXT:    %length = arith.minsi %n, %N : index
// CHECK-NEXT:    %k = attn.each "k" to %length up to %N
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %low = arith.cmpi sle, %zero, %n : index
// CHECK-NEXT:    %high = arith.cmpi slt, %n, %M : index
// CHECK-NEXT:    %a = arith.andi %low, %high : i1
// CHECK-NEXT:    %x = attn.read @x[%n] where %a : f32
// CHECK-NEXT:    attn.write @o[%i, %k] = %x : f32
// CHECK-NEXT:  }
attn.kernel @data_is_not_trusted {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %n = attn.read @n[%i] : index
  %length = arith.minsi %n, %N : index
  %k = attn.each "k" to %length up to %N
  %zero = arith.constant 0 : index
  %below = arith.cmpi slt, %k, %N : index
  %low = arith.cmpi sle, %zero, %n : index
  %high = arith.cmpi slt, %n, %M : index
  %a = arith.andi %low, %high : i1
  %b = arith.andi %a, %below : i1
  %x = attn.read @x[%n] where %b : f32
  attn.write @o[%i, %k] = %x : f32
}

// CHECK-LABEL: attn.kernel @an_assumption_is_kept {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %some = arith.cmpi sle, %zero, %M : index
// CHECK-NEXT:    spec.assume %some
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %k = attn.each "k" to %N
// CHECK-NEXT:    %x = attn.read @x[%i] : f32
// CHECK-NEXT:    attn.write @o[%i, %k] = %x : f32
// CHECK-NEXT:  }
attn.kernel @an_assumption_is_kept {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %zero = arith.constant 0 : index
  %some = arith.cmpi sle, %zero, %M : index
  spec.assume %some
  %i = attn.each "i" to %M
  %k = attn.each "k" to %N
  %x = attn.read @x[%i] : f32
  attn.write @o[%i, %k] = %x : f32
}

// A comparison that an earlier one settles, or that says the opposite of one.
// CHECK-LABEL: attn.kernel @said_before {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %k = attn.each "k" to %N
// CHECK-NEXT:    %opposite = arith.cmpi sge, %i, %k : index
// CHECK-NEXT:    %other = arith.cmpi sle, %i, %k : index
// CHECK-NEXT:    %b = arith.andi %opposite, %other : i1
// CHECK-NEXT:    %x = attn.read @x[%i] where %b : f32
// CHECK-NEXT:    attn.write @o[%i, %k] = %x : f32
// CHECK-NEXT:  }
attn.kernel @said_before {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %k = attn.each "k" to %N
  %three = arith.constant 3 : index
  %zero = arith.constant 0 : index
  %first = arith.cmpi slt, %i, %k : index
  %moved = arith.addi %i, %three : index
  %far = arith.addi %k, %three : index
  %again = arith.cmpi sgt, %far, %moved : index
  %back = arith.subi %i, %k : index
  %opposite = arith.cmpi sle, %zero, %back : index
  %other = arith.cmpi sle, %i, %k : index
  %a = arith.select %first, %again, %opposite : i1
  %b = arith.andi %opposite, %other : i1
  %c = arith.andi %a, %b : i1
  %x = attn.read @x[%i] where %c : f32
  attn.write @o[%i, %k] = %x : f32
}
