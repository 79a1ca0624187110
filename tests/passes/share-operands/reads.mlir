// RUN: attndsl opt %s --passes share-operands,canonicalize,cse
// A contraction takes another variable's place where two reads are one then, and where nothing varies along both.

spec.tensor @q "input" "f32" ["M", "64"]
spec.tensor @c "input" "f32" ["N", "96"]
spec.tensor @w "input" "f32" ["64", "64"]
spec.tensor @o "output" "f32" ["M", "64"]
spec.tensor @p "output" "f32" ["N", "64"]

// CHECK-LABEL: attn.kernel @a_value_is_a_slice_of_a_key {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c64 = arith.constant 64 : index
// CHECK-NEXT:    %c32 = arith.constant 32 : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %e = attn.axis "e" to %c64
// CHECK-NEXT:    %q = attn.read @q[%i, %e] : f32
// CHECK-NEXT:    %key_place = arith.addi %e, %c32 : index
// CHECK-NEXT:    %key = attn.read @c[%j, %key_place] : f32
// CHECK-NEXT:    %x = arith.mulf %q, %key : f32
// CHECK-NEXT:    %s = attn.sum %x over %e : f32
// CHECK-NEXT:    %m = attn.softmax %s, %key over %j : f32
// CHECK-NEXT:    attn.write @o[%i, %e] = %m : f32
// CHECK-NEXT:  }
attn.kernel @a_value_is_a_slice_of_a_key {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %c64 = arith.constant 64 : index
  %also64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %e = attn.axis "e" to %c64
  %d = attn.axis "d" to %also64
  %q = attn.read @q[%i, %d] : f32
  %key_place = arith.addi %d, %c32 : index
  %key = attn.read @c[%j, %key_place] : f32
  %x = arith.mulf %q, %key : f32
  %s = attn.sum %x over %d : f32
  %value_place = arith.addi %e, %c32 : index
  %value = attn.read @c[%j, %value_place] : f32
  %m = attn.softmax %s, %value over %j : f32
  attn.write @o[%i, %e] = %m : f32
}

// CHECK-LABEL: attn.kernel @a_norm_and_what_it_divides {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c64 = arith.constant 64 : index
// CHECK-NEXT:    %j = attn.each "j" to %N
// CHECK-NEXT:    %e = attn.axis "e" to %c64
// CHECK-NEXT:    %a = attn.read @c[%j, %e] : f32
// CHECK-NEXT:    %square = arith.mulf %a, %a : f32
// CHECK-NEXT:    %s = attn.sum %square over %e : f32
// CHECK-NEXT:    %x = arith.divf %a, %s : f32
// CHECK-NEXT:    attn.write @p[%j, %e] = %x : f32
// CHECK-NEXT:  }
attn.kernel @a_norm_and_what_it_divides {
  %N = spec.dim "N"
  %c64 = arith.constant 64 : index
  %j = attn.each "j" to %N
  %e = attn.axis "e" to %c64
  %d = attn.axis "d" to %c64
  %a = attn.read @c[%j, %d] : f32
  %square = arith.mulf %a, %a : f32
  %s = attn.sum %square over %d : f32
  %b = attn.read @c[%j, %e] : f32
  %x = arith.divf %b, %s : f32
  attn.write @p[%j, %e] = %x : f32
}

// CHECK-LABEL: attn.kernel @one_would_be_caught {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c64 = arith.constant 64 : index
// CHECK-NEXT:    %j = attn.each "j" to %N
// CHECK-NEXT:    %e = attn.axis "e" to %c64
// CHECK-NEXT:    %d = attn.axis "d" to %c64
// CHECK-NEXT:    %a = attn.read @c[%j, %d] : f32
// CHECK-NEXT:    %w = attn.read @w[%e, %d] : f32
// CHECK-NEXT:    %y = arith.mulf %a, %w : f32
// CHECK-NEXT:    %s = attn.sum %y over %d : f32
// CHECK-NEXT:    %b = attn.read @c[%j, %e] : f32
// CHECK-NEXT:    %x = arith.addf %b, %s : f32
// CHECK-NEXT:    attn.write @p[%j, %e] = %x : f32
// CHECK-NEXT:  }
attn.kernel @one_would_be_caught {
  %N = spec.dim "N"
  %c64 = arith.constant 64 : index
  %j = attn.each "j" to %N
  %e = attn.axis "e" to %c64
  %d = attn.axis "d" to %c64
  %a = attn.read @c[%j, %d] : f32
  %w = attn.read @w[%e, %d] : f32
  %y = arith.mulf %a, %w : f32
  %s = attn.sum %y over %d : f32
  %b = attn.read @c[%j, %e] : f32
  %x = arith.addf %b, %s : f32
  attn.write @p[%j, %e] = %x : f32
}

// CHECK-LABEL: attn.kernel @nothing_is_shared {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c64 = arith.constant 64 : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %e = attn.axis "e" to %c64
// CHECK-NEXT:    %d = attn.axis "d" to %c64
// CHECK-NEXT:    %c32 = arith.constant 32 : index
// CHECK-NEXT:    %q = attn.read @q[%i, %d] : f32
// CHECK-NEXT:    %key = attn.read @c[%j, %d] : f32
// CHECK-NEXT:    %x = arith.mulf %q, %key : f32
// CHECK-NEXT:    %s = attn.sum %x over %d : f32
// CHECK-NEXT:    %place = arith.addi %e, %c32 : index
// CHECK-NEXT:    %value = attn.read @c[%j, %place] : f32
// CHECK-NEXT:    %m = attn.softmax %s, %value over %j : f32
// CHECK-NEXT:    attn.write @o[%i, %e] = %m : f32
// CHECK-NEXT:  }
attn.kernel @nothing_is_shared {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %c64 = arith.constant 64 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %e = attn.axis "e" to %c64
  %d = attn.axis "d" to %c64
  %c32 = arith.constant 32 : index
  %q = attn.read @q[%i, %d] : f32
  %key = attn.read @c[%j, %d] : f32
  %x = arith.mulf %q, %key : f32
  %s = attn.sum %x over %d : f32
  %place = arith.addi %e, %c32 : index
  %value = attn.read @c[%j, %place] : f32
  %m = attn.softmax %s, %value over %j : f32
  attn.write @o[%i, %e] = %m : f32
}
