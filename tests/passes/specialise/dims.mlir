// RUN: attndsl opt %s --passes 'specialise{dims=D,E extents=128,1},canonicalize,cse,simplify-indices,canonicalize,cse'
// What a dim settles is settled: scales, guards, halves and conditions. Other dims, and what tensors declare, stay.

// CHECK:       spec.tensor @x "input" "f32" ["M", "D"]
// CHECK-NEXT:  spec.tensor @o "output" "f32" ["M", "E"]
spec.tensor @x "input" "f32" ["M", "D"]
spec.tensor @o "output" "f32" ["M", "E"]

// CHECK-LABEL: attn.kernel @settles {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %D = arith.constant 128 : index
// CHECK-NEXT:    %E = arith.constant 1 : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %half = arith.constant 64 : index
// CHECK-NEXT:    %low = arith.cmpi slt, %d, %half : index
// CHECK-NEXT:    %x = attn.read @x[%i, %d] where %low : f32
// CHECK-NEXT:    %sum = attn.sum %x over %d : f32
// CHECK-NEXT:    %scale = arith.constant 0.127517432 : f32
// CHECK-NEXT:    %scaled = arith.mulf %sum, %scale : f32
// CHECK-NEXT:    attn.write @o[%i, %e] = %scaled : f32
// CHECK-NEXT:  }
attn.kernel @settles {
  %M = spec.dim "M"
  %D = spec.dim "D"
  %E = spec.dim "E"
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %rest = spec.mod %D, %two
  %even = arith.cmpi eq, %rest, %zero : index
  spec.assume %even
  %i = attn.each "i" to %M
  %d = attn.axis "d" to %D
  %e = attn.axis "e" to %E
  %half = arith.floordivsi %D, %two : index
  %low = arith.cmpi slt, %d, %half : index
  %inside = arith.cmpi slt, %d, %D : index
  %both = arith.andi %low, %inside : i1
  %x = attn.read @x[%i, %d] where %both : f32
  %sum = attn.sum %x over %d : f32
  %real = spec.to_float %D : f32
  %root = math.sqrt %real : f32
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.divf %log2e, %root : f32
  %scaled = arith.mulf %sum, %scale : f32
  %empty = arith.cmpi sle, %E, %zero : index
  %zeros = arith.constant 0.0 : f32
  %result = arith.select %empty, %zeros, %scaled : f32
  attn.write @o[%i, %e] = %result : f32
}
