// RUN: attndsl opt %s --passes canonicalize,cse,bound-loops,canonicalize,cse
// Each form of comparison that says where keys begin or end.

spec.tensor @x "input" "f32" ["N"]
spec.tensor @n "input" "i32" ["M"]
spec.tensor @o "output" "f32" ["M"]
spec.parameter @window index = 3 : index

// CHECK-LABEL: attn.kernel @up_to_and_including {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.addi %i, [[V0]] : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.minsi %N, [[V1]] : index
// CHECK-NEXT:    %j = attn.over "j" to [[V2]]
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @up_to_and_including {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %seen = arith.cmpi sge, %i, %j : index
  %t = attn.total %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @window {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %window = spec.param "window" : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.addi %i, [[V0]] : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.subi [[V1]], %window : index
// CHECK-NEXT:    [[V3:%\w+]] = arith.minsi %N, %i : index
// CHECK-NEXT:    [[V4:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V5:%\w+]] = arith.maxsi [[V2]], [[V4]] : index
// CHECK-NEXT:    %j = attn.over "j" from [[V5]] to [[V3]]
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @window {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %window = spec.param "window" : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %distance = arith.subi %i, %j : index
  %near = arith.cmpi slt, %distance, %window : index
  %before = arith.cmpi sgt, %i, %j : index
  %seen = arith.andi %near, %before : i1
  %t = attn.total %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @one_key {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.addi %i, [[V0]] : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.minsi %N, [[V1]] : index
// CHECK-NEXT:    [[V3:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V4:%\w+]] = arith.maxsi %i, [[V3]] : index
// CHECK-NEXT:    %j = attn.over "j" from [[V4]] to [[V2]]
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @one_key {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %same = arith.cmpi eq, %j, %i : index
  %t = attn.total %x over %j where %same : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @chunk {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %size = arith.constant 4 : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %mine = arith.floordivsi %i, %size : index
// CHECK-NEXT:    [[V0:%\w+]] = arith.muli %mine, %size : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.addi [[V0]], %size : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.minsi %N, [[V1]] : index
// CHECK-NEXT:    [[V3:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V4:%\w+]] = arith.maxsi [[V0]], [[V3]] : index
// CHECK-NEXT:    %j = attn.over "j" from [[V4]] to [[V2]]
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @chunk {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %size = arith.constant 4 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %mine = arith.floordivsi %i, %size : index
  %its = arith.floordivsi %j, %size : index
  %same = arith.cmpi eq, %its, %mine : index
  %t = attn.total %x over %j where %same : f32
  attn.write @o[%i] = %t : f32
}

// A spec may require that a parameter is above 0: then (i / size) * size is near to i, and fits 64 bits.
// CHECK-LABEL: attn.kernel @a_chunk_of_any_size {
// CHECK:         %mine = arith.floordivsi %i, %size : index
// CHECK-NEXT:    [[V0:%\w+]] = arith.muli %mine, %size : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.addi [[V0]], %size : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.minsi %N, [[V1]] : index
// CHECK-NEXT:    [[V3:%\w+]] = arith.maxsi [[V0]], %zero : index
// CHECK-NEXT:    %j = attn.over "j" from [[V3]] to [[V2]] up to %N
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @a_chunk_of_any_size {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %size = spec.param "window" : index
  %zero = arith.constant 0 : index
  %some = arith.cmpi sgt, %size, %zero : index
  spec.assume %some
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %mine = arith.floordivsi %i, %size : index
  %its = arith.floordivsi %j, %size : index
  %same = arith.cmpi eq, %its, %mine : index
  %t = attn.total %x over %j where %same : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @the_larger_of_two_ends {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %window = spec.param "window" : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.addi %i, [[V0]] : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.maxsi %window, [[V1]] : index
// CHECK-NEXT:    [[V3:%\w+]] = arith.minsi %N, [[V2]] : index
// CHECK-NEXT:    %j = attn.over "j" to [[V3]]
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @the_larger_of_two_ends {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %window = spec.param "window" : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %prefix = arith.cmpi slt, %j, %window : index
  %causal = arith.cmpi sle, %j, %i : index
  %seen = arith.ori %prefix, %causal : i1
  %t = attn.total %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @the_earlier_of_two_starts {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %window = spec.param "window" : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.addi %i, [[V0]] : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.minsi %window, [[V1]] : index
// CHECK-NEXT:    [[V3:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V4:%\w+]] = arith.maxsi [[V2]], [[V3]] : index
// CHECK-NEXT:    %j = attn.over "j" from [[V4]] to %N
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @the_earlier_of_two_starts {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %window = spec.param "window" : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %late = arith.cmpi sge, %j, %window : index
  %after = arith.cmpi sgt, %j, %i : index
  %seen = arith.ori %late, %after : i1
  %t = attn.total %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @a_length_that_is_read {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %n = attn.read @n[%i] : index
// CHECK-NEXT:    [[V0:%\w+]] = arith.minsi %N, %n : index
// CHECK-NEXT:    %j = attn.over "j" to [[V0]]
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @a_length_that_is_read {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %n = attn.read @n[%i] : index
  %seen = arith.cmpi slt, %j, %n : index
  %t = attn.total %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @rows_that_see_nothing {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %window = spec.param "window" : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:    %seen = arith.cmpi slt, %i, %window : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.select %seen, %N, [[V0]] : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.minsi %N, [[V1]] : index
// CHECK-NEXT:    %j = attn.over "j" to [[V2]]
// CHECK-NEXT:    %x = attn.read @x[%j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @rows_that_see_nothing {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %window = spec.param "window" : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %seen = arith.cmpi slt, %i, %window : index
  %t = attn.total %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}
