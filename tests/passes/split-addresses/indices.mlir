// RUN: attndsl opt %s --passes split-addresses

// What is the same for a tile is added up, each integer as often as it counts; an axis of known numbers is near from
// its start. An index that was read stays whole, and so does one that is the same for the tile.

spec.tensor @x "input" "f32" ["N", "N"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @walks {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 16 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = tile.program "i" to %M step %one
  %d = tile.range "d" from %zero to %size size %size
  %d_in = arith.cmpi slt, %d, %N : index
  %i_in = arith.cmpi slt, %i, %N : index
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%carried = %none) -> (f32) {
    %j_end = arith.addi %j0, %size : index
    %j = tile.range "j" from %j0 to %j_end size %size
    %back = arith.subi %j, %i : index
    %again = arith.addi %back, %i : index
    %twice = arith.addi %again, %j0 : index
    %first = arith.cmpi slt, %twice, %N : index
    %at = tile.load @table[%twice] where %first : index
    %low = arith.cmpi sge, %at, %zero : index
    %high = arith.cmpi slt, %at, %N : index
    %fits = arith.andi %low, %high : i1
    %in = arith.andi %fits, %d_in : i1
    %x = tile.load @x[%at, %d] where %in : f32
    %behind = arith.cmpi sge, %back, %zero : index
    %near = arith.cmpi slt, %back, %N : index
    %ahead = arith.andi %behind, %near : i1
    %both = arith.andi %ahead, %i_in : i1
    %y = tile.load @x[%i, %back] where %both : f32
    %over = tile.sum %x over %d : f32 to f32
    %added = arith.addf %over, %y : f32
    %part = tile.sum %added over %j : f32 to f32
    %next = arith.addf %carried, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%i] = %sum : f32
}

// CHECK:      [[NEAR:%\S+]] = tile.place [] of() axes() near(%d)
// CHECK:      %j = tile.range "j"
// CHECK-NEXT: %back = arith.subi %j, %i : index
// CHECK-NEXT: [[BACK:%\S+]] = tile.place [1 : index, -1 : index] of(%j0, %i) axes(%j) near()
// CHECK:      [[TWICE:%\S+]] = tile.place [2 : index] of(%j0) axes(%j) near()
// CHECK:      %at = tile.load @table{{\[}}[[TWICE]]{{\]}}
// CHECK:      tile.load @x[%at, [[NEAR]]]
// CHECK:      tile.load @x[%i, [[BACK]]]
// CHECK:      tile.store @o[%i]
