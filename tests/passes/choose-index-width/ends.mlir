// RUN: attndsl opt %s --passes choose-index-width

// Where the keys of a row end, as data say, is no more than their number, and 0 where it is less.

spec.tensor @n "input" "i64" ["M"]
spec.tensor @x "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: tile.kernel @above
// CHECK: %end = arith.minsi %n, %N : index
// CHECK-NEXT: [[ZERO:%\w+]] = arith.constant 0 : index
// CHECK-NEXT: %end_1 = arith.maxsi %end, [[ZERO]] : index
// CHECK: %seen = arith.cmpi sgt, %end_1, %j : index
// CHECK: %before = arith.cmpi slt, %end, %j : index
// CHECK: tile.narrow {{.*}}%seen
tile.kernel @above {
  %zero = arith.constant 0 : index
  %rows = arith.constant 16 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %none = arith.constant 0.0 : f32
  %i0 = tile.program "i" to %M step %rows
  %i_end = arith.addi %i0, %rows : index
  %i = tile.range "i" from %i0 to %i_end size %rows
  %at = tile.place [1 : index] of(%i0) axes(%i) near()
  %i_in = arith.cmpi slt, %i, %M : index
  %n = tile.load @n[%at] where %i_in : index
  %end = arith.minsi %n, %N : index
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %rows iter_args(%s = %start) -> (f32) {
    %j_end = arith.addi %j0, %rows : index
    %j = tile.range "j" from %j0 to %j_end size %rows
    %there = tile.place [1 : index] of(%j0) axes(%j) near()
    %j_in = arith.cmpi slt, %j, %N : index
    %x = tile.load @x[%there] where %j_in : f32
    %seen = arith.cmpi sgt, %end, %j : index
    %before = arith.cmpi slt, %end, %j : index
    %apart = arith.ori %seen, %before : i1
    %both = arith.andi %apart, %j_in : i1
    %v = arith.select %both, %x, %none : f32
    %t = tile.sum %v over %j : f32 to f32
    %next = arith.addf %s, %t : f32
    tile.yield %next : f32
  }
  tile.store @o[%at] = %sum where %i_in : f32
}
