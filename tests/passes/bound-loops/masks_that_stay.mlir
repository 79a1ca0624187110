// RUN: attndsl opt %s --passes canonicalize,cse,bound-loops,canonicalize,cse
// What is no interval, or holds for one of two reductions only, stays a mask.

spec.tensor @n "input" "i32" ["M"]
spec.tensor @x "input" "f32" ["N"]
spec.tensor @p "input" "bool" ["N"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @u "output" "f32" ["M"]

// CHECK-LABEL: attn.kernel @of_one_reduction_only {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %seen = arith.cmpi sle, %j, %i : index
// CHECK-NEXT:    %other = arith.cmpi slt, %j, %i : index
// CHECK-NEXT:    %t = attn.total %x over %j where %seen : f32
// CHECK-NEXT:    %s = attn.max %x over %j where %other : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:    attn.write @u[%i] = %s : f32
// CHECK-NEXT:  }
attn.kernel @of_one_reduction_only {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %seen = arith.cmpi sle, %j, %i : index
  %other = arith.cmpi slt, %j, %i : index
  %t = attn.total %x over %j where %seen : f32
  %s = attn.max %x over %j where %other : f32
  attn.write @o[%i] = %t : f32
  attn.write @u[%i] = %s : f32
}

// CHECK-LABEL: attn.kernel @of_both_reductions {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.addi %i, [[V0]] : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.minsi %N, [[V1]] : index
// CHECK-NEXT:    %j = attn.over "j" to [[V2]]
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %p = attn.read @p[%j] : i1
// CHECK-NEXT:    %t = attn.total %x over %j where %p : f32
// CHECK-NEXT:    %s = attn.max %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:    attn.write @u[%i] = %s : f32
// CHECK-NEXT:  }
attn.kernel @of_both_reductions {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %p = attn.read @p[%j] : i1
  %seen = arith.cmpi sle, %j, %i : index
  %both = arith.andi %seen, %p : i1
  %t = attn.total %x over %j where %both : f32
  %s = attn.max %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
  attn.write @u[%i] = %s : f32
}

// CHECK-LABEL: attn.kernel @not_an_interval {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %two = arith.constant 2 : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %other = arith.cmpi ne, %j, %i : index
// CHECK-NEXT:    %digit = spec.mod %j, %two
// CHECK-NEXT:    %even = arith.cmpi sle, %digit, %i : index
// CHECK-NEXT:    %twice = arith.muli %j, %two : index
// CHECK-NEXT:    %stretched = arith.cmpi sle, %twice, %i : index
// CHECK-NEXT:    %square = arith.muli %j, %j : index
// CHECK-NEXT:    %curved = arith.cmpi sle, %square, %i : index
// CHECK-NEXT:    %early = arith.cmpi slt, %j, %i : index
// CHECK-NEXT:    %late = arith.cmpi sgt, %j, %two : index
// CHECK-NEXT:    %gap = arith.ori %early, %late : i1
// CHECK-NEXT:    %a = arith.andi %other, %even : i1
// CHECK-NEXT:    %b = arith.andi %stretched, %curved : i1
// CHECK-NEXT:    %c = arith.andi %a, %b : i1
// CHECK-NEXT:    %seen = arith.andi %c, %gap : i1
// CHECK-NEXT:    %t = attn.total %x over %j where %seen : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @not_an_interval {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %two = arith.constant 2 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %other = arith.cmpi ne, %j, %i : index
  %digit = spec.mod %j, %two
  %even = arith.cmpi sle, %digit, %i : index
  %twice = arith.muli %j, %two : index
  %stretched = arith.cmpi sle, %twice, %i : index
  %square = arith.muli %j, %j : index
  %curved = arith.cmpi sle, %square, %i : index
  %early = arith.cmpi slt, %j, %i : index
  %late = arith.cmpi sgt, %j, %two : index
  %gap = arith.ori %early, %late : i1
  %a = arith.andi %other, %even : i1
  %b = arith.andi %stretched, %curved : i1
  %c = arith.andi %a, %b : i1
  %seen = arith.andi %c, %gap : i1
  %t = attn.total %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @a_quotient_by_what_may_be_negative {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %size = arith.subi %M, %N : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %its = arith.floordivsi %j, %size : index
// CHECK-NEXT:    %seen = arith.cmpi sle, %its, %i : index
// CHECK-NEXT:    %t = attn.total %x over %j where %seen : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @a_quotient_by_what_may_be_negative {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %size = arith.subi %M, %N : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %its = arith.floordivsi %j, %size : index
  %seen = arith.cmpi sle, %its, %i : index
  %t = attn.total %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// What is computed for a row that writes nothing is nobody's: a condition that all writes have is no bound, either.
// CHECK-LABEL: attn.kernel @rows_that_write_nothing {
// CHECK: %j = attn.over "j" to %N
// CHECK-NEXT: %x = attn.read @x[%j] : f32
// CHECK-NEXT: %written = arith.cmpi slt, %n, %zero : index
// CHECK-NEXT: %t = attn.total %x over %j : f32
// CHECK-NEXT: attn.write @o[%i] = %t where %written : f32
// CHECK-NEXT: }
attn.kernel @rows_that_write_nothing {
  %zero = arith.constant 0 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %n = attn.read @n[%i] : index
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %written = arith.cmpi slt, %n, %zero : index
  %t = attn.total %x over %j where %written : f32
  attn.write @o[%i] = %t where %written : f32
}

// Another write has no such condition: what it writes is somebody's.
// CHECK-LABEL: attn.kernel @rows_that_write_something {
// CHECK: [[END:%\w+]] = arith.select %written, %N, %{{\w+}} : index
// CHECK-NEXT: [[STOP:%\w+]] = arith.minsi %N, [[END]] : index
// CHECK-NEXT: %j = attn.over "j" to [[STOP]]
// CHECK: attn.write @o[%i] = %t where %written : f32
attn.kernel @rows_that_write_something {
  %zero = arith.constant 0 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %n = attn.read @n[%i] : index
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %written = arith.cmpi slt, %n, %zero : index
  %t = attn.total %x over %j where %written : f32
  attn.write @o[%i] = %t where %written : f32
  attn.write @u[%i] = %t : f32
}
