// RUN: attndsl opt %s --passes gather-blocks

// Blocks of a known size are read whole; what is read of them is laid end to end, what is the same for one repeated.
// CHECK-LABEL: tile.kernel @whole
// CHECK: %j_block0 = arith.floordivsi %j0, %S : index
// CHECK: %j_block = tile.range "j_block" from %j_block0 to %j_block_end size %{{.*}}
// CHECK: %j_place = tile.range "j_place" from %{{.*}} to %S size %S
// CHECK: %table = tile.load @table[%j_block] : index
// CHECK: %in = arith.andi %nonnegative, %below : i1
// CHECK-NEXT: %[[IN:.*]] = tile.flatten %in from %j_block, %j_place at %j_first to %j : i1 to i1
// CHECK-NEXT: %v = tile.load @x[%table, %j_place, %e] where %in : f32
// CHECK-NEXT: %[[V:.*]] = tile.flatten %v from %j_block, %j_place at %j_first to %j : f32 to f32
// CHECK-NEXT: arith.select %[[IN]], %[[V]], %low : f32
spec.tensor @x "input" "f32" ["P", "5", "E"]
spec.tensor @table "input" "i32" ["L"]
spec.tensor @o "output" "f32" ["E"]
tile.kernel @whole {
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %size = arith.constant 16 : index
  %S = arith.constant 5 : index
  %L = spec.dim "L"
  %P = spec.dim "P"
  %E = spec.dim "E"
  %N = arith.muli %L, %S : index
  %e0 = tile.program "e" to %E step %size
  %e = tile.range "e" from %e0 to %E size %size
  %none = tile.broadcast %low over (%e) : f32 to f32
  %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %page = arith.floordivsi %j, %S : index
    %place = spec.mod %j, %S
    %table = tile.load @table[%page] : index
    %nonnegative = arith.cmpi sle, %zero, %table : index
    %below = arith.cmpi slt, %table, %P : index
    %in = arith.andi %nonnegative, %below : i1
    %v = tile.load @x[%table, %place, %e] where %in : f32
    %s = arith.select %in, %v, %low : f32
    %largest = tile.max %s over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%e] = %t : f32
}

// Blocks that may be longer than a tile: of one alone the tile's places are read. The dim is not 0, as is said below.
// CHECK-LABEL: tile.kernel @parts
// CHECK: %[[REACH:.*]] = arith.subi %j_end, %j_first : index
// CHECK-NEXT: %[[ALONE:.*]] = arith.cmpi sle, %[[REACH]], %S : index
// CHECK: %j_place0 = arith.select %[[ALONE]]
// CHECK-NEXT: %j_place_end = arith.minsi %[[REACH]], %S : index
// CHECK: %j_laid = arith.addi %j_first, %j_place0 : index
// CHECK: tile.range "j_place" from %j_place0 to %j_place_end size
// CHECK: tile.flatten %v from %j_block, %j_place at %j_laid to %j : f32 to f32
spec.tensor @y "input" "f32" ["P", "S", "E"]
tile.kernel @parts {
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %size = arith.constant 16 : index
  %S = spec.dim "S"
  %some = arith.cmpi ne, %S, %zero : index
  spec.assume %some
  %L = spec.dim "L"
  %P = spec.dim "P"
  %E = spec.dim "E"
  %N = arith.muli %L, %S : index
  %e0 = tile.program "e" to %E step %size
  %e = tile.range "e" from %e0 to %E size %size
  %none = tile.broadcast %low over (%e) : f32 to f32
  %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %page = arith.floordivsi %j, %S : index
    %place = spec.mod %j, %S
    %table = tile.load @table[%page] : index
    %nonnegative = arith.cmpi sle, %zero, %table : index
    %below = arith.cmpi slt, %table, %P : index
    %in = arith.andi %nonnegative, %below : i1
    %v = tile.load @y[%table, %place, %e] where %in : f32
    %largest = tile.max %v over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%e] = %t : f32
}

// A block of no keys, places that are not found by remainder alone, quotients that nothing is read by.
// CHECK-LABEL: tile.kernel @not_blocks
// CHECK-NOT: j_block
// CHECK: tile.load @y[%table, %further, %e]
// CHECK-NOT: j_block
tile.kernel @not_blocks {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %low = arith.constant 0xff800000 : f32
  %size = arith.constant 16 : index
  %S = spec.dim "S"
  %N = spec.dim "L"
  %P = spec.dim "P"
  %E = spec.dim "E"
  %e0 = tile.program "e" to %E step %size
  %e = tile.range "e" from %e0 to %E size %size
  %none = tile.broadcast %low over (%e) : f32 to f32
  %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %page = arith.floordivsi %j, %S : index
    %place = spec.mod %j, %S
    %further = arith.addi %place, %one : index
    %inside = arith.cmpi slt, %further, %S : index
    %in0 = arith.cmpi slt, %page, %N : index
    %table = tile.load @table[%page] where %in0 : index
    %nonnegative = arith.cmpi sle, %zero, %table : index
    %below = arith.cmpi slt, %table, %P : index
    %in1 = arith.andi %nonnegative, %below : i1
    %in = arith.andi %in1, %inside : i1
    %v = tile.load @y[%table, %further, %e] where %in : f32
    %half = arith.floordivsi %j, %size : index
    %weight = spec.to_float %half : f32
    %s = arith.mulf %v, %weight : f32
    %largest = tile.max %s over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%e] = %t : f32
}
