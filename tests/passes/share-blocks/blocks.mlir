// RUN: attndsl opt %s --passes share-blocks

// What is computed of scales alone is computed for blocks; a guard of blocks goes along; what follows varies within.
// CHECK-LABEL: tile.kernel @shared
// CHECK: %d_block = tile.range "d_block" from %zero to %[[N:.*]] size %[[N]]
// CHECK: %in = arith.cmpi sgt, %M, %d_block : index
// CHECK: %scale = tile.load @scale[%i, %d_block] where %in : f32
// CHECK-NEXT: %twice = arith.addf %scale, %scale : f32
// CHECK-NEXT: %[[R:.*]] = tile.repeat %twice from %d_block to %d times 4 : f32 to f32
// CHECK: arith.mulf %x, %[[R]] : f32
// CHECK-NOT: tile.repeat
spec.tensor @m "input" "f32" ["M"]
spec.tensor @x "input" "f32" ["N", "D"]
spec.tensor @scale "input" "f32" ["N", "D // 4"]
spec.tensor @o "output" "f32" ["N", "D"]
tile.kernel @shared {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  %N = spec.dim "N"
  %M = spec.dim "M"
  %D = spec.dim "D"
  %rest = spec.mod %D, %four
  %whole = arith.cmpi eq, %rest, %zero : index
  spec.assume %whole
  %i0 = tile.program "i" to %N step %four
  %i = tile.range "i" from %i0 to %N size %four
  %d = tile.range "d" from %zero to %D size %D
  %block = arith.floordivsi %d, %four : index
  %in = arith.cmpi sgt, %M, %block : index
  %x = tile.load @x[%i, %d] : f32
  %scale = tile.load @scale[%i, %block] where %in : f32
  %twice = arith.addf %scale, %scale : f32
  %y = arith.mulf %x, %twice : f32
  tile.store @o[%i, %d] = %y : f32
}

// Of two sizes each has blocks of its own; integers that rest on no read are computed of the axis.
// CHECK-LABEL: tile.kernel @two_sizes
// CHECK-DAG: tile.range "d_block" from %zero to %[[A:.*]] size %[[A]]
// CHECK-DAG: tile.range "d_block" from %zero to %[[B:.*]] size %[[B]]
// CHECK: %[[P:.*]] = arith.floordivsi %d, %two : index
// CHECK-DAG: tile.repeat {{.*}} times 2 : index to index
// CHECK-DAG: tile.repeat {{.*}} times 4 : f32 to f32
// CHECK-DAG: spec.to_float %[[P]] : f32
spec.tensor @pairs "input" "u8" ["N", "D // 2"]
tile.kernel @two_sizes {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  %N = spec.dim "N"
  %i0 = tile.program "i" to %N step %four
  %i = tile.range "i" from %i0 to %N size %four
  %d = tile.range "d" from %zero to %four size %four
  %pair = arith.floordivsi %d, %two : index
  %block = arith.floordivsi %d, %four : index
  %bits = tile.load @pairs[%i, %pair] : index
  %odd = spec.mod %d, %two
  %shifted = arith.shrsi %bits, %odd : index
  %number = spec.to_float %shifted : f32
  %scale = tile.load @scale[%i, %block] : f32
  %y = arith.mulf %number, %scale : f32
  %place = spec.to_float %pair : f32
  %z = arith.addf %y, %place : f32
  tile.store @o[%i, %d] = %z : f32
}

// Blocks that may not be whole, a guard that varies within them, an axis that begins elsewhere: read as before.
// CHECK-LABEL: tile.kernel @not_shared
// CHECK-NOT: tile.repeat
tile.kernel @not_shared {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %N = spec.dim "N"
  %M = spec.dim "M"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %N step %one
  %d = tile.range "d" from %zero to %D size %D
  %b0 = arith.floordivsi %d, %four : index
  %s0 = tile.load @scale[%i0, %b0] : f32
  tile.store @o[%i0, %d] = %s0 : f32
  %e = tile.range "e" from %zero to %four size %four
  %b1 = arith.floordivsi %e, %four : index
  %in = arith.cmpi sgt, %M, %e : index
  %s1 = tile.load @scale[%i0, %b1] where %in : f32
  tile.store @o[%i0, %e] = %s1 : f32
  %f = tile.range "f" from %one to %four size %four
  %b2 = arith.floordivsi %f, %four : index
  %s2 = tile.load @scale[%i0, %b2] : f32
  tile.store @o[%i0, %f] = %s2 : f32
}
