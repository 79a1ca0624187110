// RUN: attndsl opt %s --passes align-quotients

spec.tensor @x "input" "f32" ["N", "96"]
spec.tensor @scale "input" "f32" ["N", "64"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["M"]

// Two divisors: tiles divide both. Tiles that begin after some whole tiles are aligned, too. What is read once for
// a tile is read where its first key lies before the end, as it always does; what else is asked stays.
// CHECK-LABEL: tile.kernel @aligned {
// CHECK-NEXT: %keys = spec.choice "KEYS" divides 32 : index
// CHECK: tile.loop %j0 = %begin to %N step %keys
// CHECK: %block = arith.floordivsi %j0, %S : index
// CHECK-NEXT: [[START:%\d+]] = spec.mod %j0, %S
// CHECK-NEXT: [[AFTER:%\d+]] = arith.subi %j, %j0 : index
// CHECK-NEXT: %place = arith.addi [[START]], [[AFTER]] : index
// CHECK: %group = arith.floordivsi %j0, %G : index
// CHECK: tile.load @table[%block] where %after : index
// CHECK: tile.load @x[%sane, %place] where %in : f32
// CHECK: tile.load @scale[%group, %zero] where %after : f32
tile.kernel @aligned {
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %low = arith.constant 0xff800000 : f32
  %S = arith.constant 96 : index
  %G = arith.constant 64 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = tile.program "i" to %M step %one
  %tiles = arith.floordivsi %i, %keys : index
  %begin = arith.muli %tiles, %keys : index
  %t = tile.loop %j0 = %begin to %N step %keys iter_args(%m = %low) -> (f32) {
    %end = arith.addi %j0, %keys : index
    %j = tile.range "j" from %j0 to %end size %keys
    %block = arith.floordivsi %j, %S : index
    %place = spec.mod %j, %S
    %group = arith.floordivsi %j, %G : index
    %before = arith.cmpi sgt, %N, %j : index
    %after = arith.cmpi sle, %i, %j : index
    %in = arith.andi %before, %after : i1
    %table = tile.load @table[%block] where %in : index
    %sane = spec.mod %table, %N
    %v = tile.load @x[%sane, %place] where %in : f32
    %s = tile.load @scale[%group, %zero] where %in : f32
    %y = arith.mulf %v, %s : f32
    %y1 = arith.select %in, %y, %low : f32
    %largest = tile.max %y1 over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}

// Tiles that begin anywhere may have two quotients, and blocks of 48 keys have no tiles worth having.
// CHECK-LABEL: tile.kernel @left {
// CHECK-NEXT: %keys = spec.choice "KEYS"{{$}}
// CHECK: tile.loop %j0 = %i to %N step %keys
// CHECK: %block = arith.floordivsi %j, %S : index
// CHECK: tile.loop %j0_1 = %zero to %N step %keys
// CHECK: %block_1 = arith.floordivsi %j_1, %small : index
tile.kernel @left {
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %low = arith.constant 0xff800000 : f32
  %S = arith.constant 64 : index
  %small = arith.constant 48 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = tile.program "i" to %M step %one
  %t = tile.loop %j0 = %i to %N step %keys iter_args(%m = %low) -> (f32) {
    %end = arith.addi %j0, %keys : index
    %j = tile.range "j" from %j0 to %end size %keys
    %in = arith.cmpi sgt, %N, %j : index
    %block = arith.floordivsi %j, %S : index
    %v = tile.load @scale[%block, %zero] where %in : f32
    %v1 = arith.select %in, %v, %low : f32
    %largest = tile.max %v1 over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  %t1 = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %t) -> (f32) {
    %end = arith.addi %j0, %keys : index
    %j = tile.range "j" from %j0 to %end size %keys
    %in = arith.cmpi sgt, %N, %j : index
    %block = arith.floordivsi %j, %small : index
    %v = tile.load @scale[%block, %zero] where %in : f32
    %v1 = arith.select %in, %v, %low : f32
    %largest = tile.max %v1 over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t1 : f32
}

// A loop whose rows know where their keys start begins at a multiple of its tiles before that.
// CHECK-LABEL: tile.kernel @window form "whole"
// CHECK: [[TILES:%\d+]] = arith.floordivsi %start, %keys : index
// CHECK-NEXT: %start_1 = arith.muli [[TILES]], %keys : index
// CHECK-NEXT: %t = tile.loop %j0 = %start_1 to %N step %keys rows from %row_start to %N
// CHECK: arith.floordivsi %j0, %S : index
tile.kernel @window form "whole" {
  %keys = spec.choice "KEYS"
  %rows = spec.choice "ROWS"
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %S = arith.constant 32 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %row_start = arith.maxsi %i, %zero : index
  %start = arith.maxsi %i0, %zero : index
  %z = tile.broadcast %none over (%i) : f32 to f32
  %t = tile.loop %j0 = %start to %N step %keys rows from %row_start to %N iter_args(%s = %z) -> (f32) {
    %end = arith.addi %j0, %keys : index
    %j = tile.range "j" from %j0 to %end size %keys
    %in = arith.cmpi sgt, %N, %j : index
    %seen = arith.cmpi sle, %row_start, %j : index
    %block = arith.floordivsi %j, %S : index
    %table = tile.load @table[%block] where %in : index
    %sane = spec.mod %table, %N
    %zero1 = arith.constant 0 : index
    %v = tile.load @x[%sane, %zero1] where %in : f32
    %both = arith.andi %in, %seen : i1
    %w = arith.select %both, %v, %none : f32
    %sum = tile.sum %w over %j : f32 to f32
    %s1 = arith.addf %s, %sum : f32
    tile.yield %s1 : f32
  }
  tile.store @o[%i] = %t : f32
}

// So does one whose blocks have no tiles worth having, once: a role copies block by block.
// CHECK-LABEL: tile.kernel @small form "whole"
// CHECK-NEXT: %keys = spec.choice "KEYS"{{$}}
// CHECK: [[TILES:%\d+]] = arith.floordivsi %start, %keys : index
// CHECK-NEXT: %start_1 = arith.muli [[TILES]], %keys : index
// CHECK-NEXT: %t = tile.loop %j0 = %start_1 to %N step %keys rows from %row_start to %N
// CHECK: arith.floordivsi %j, %S : index
tile.kernel @small form "whole" {
  %keys = spec.choice "KEYS"
  %rows = spec.choice "ROWS"
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %S = arith.constant 16 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %row_start = arith.maxsi %i, %zero : index
  %start = arith.maxsi %i0, %zero : index
  %z = tile.broadcast %none over (%i) : f32 to f32
  %t = tile.loop %j0 = %start to %N step %keys rows from %row_start to %N iter_args(%s = %z) -> (f32) {
    %end = arith.addi %j0, %keys : index
    %j = tile.range "j" from %j0 to %end size %keys
    %in = arith.cmpi sgt, %N, %j : index
    %seen = arith.cmpi sle, %row_start, %j : index
    %block = arith.floordivsi %j, %S : index
    %table = tile.load @table[%block] where %in : index
    %sane = spec.mod %table, %N
    %zero1 = arith.constant 0 : index
    %v = tile.load @x[%sane, %zero1] where %in : f32
    %both = arith.andi %in, %seen : i1
    %w = arith.select %both, %v, %none : f32
    %sum = tile.sum %w over %j : f32 to f32
    %s1 = arith.addf %s, %sum : f32
    tile.yield %s1 : f32
  }
  tile.store @o[%i] = %t : f32
}
