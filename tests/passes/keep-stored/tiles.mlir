// RUN: attndsl opt %s --passes keep-stored

// %x is multiplied as f16, and so kept though it is summed too; %y is not multiplied at all. The integers of @table are
// only compared; those of @at are an index. What is named stands at the end of the block that computes it.

spec.tensor @x "input" "f16" ["N", "N"]
spec.tensor @y "input" "f16" ["N"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @at "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["M", "N"]
tile.kernel @walks {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 16 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %m0 = tile.program "m" to %M step %size
  %m = tile.range "m" from %m0 to %M size %size
  %d = tile.range "d" from %zero to %N size %size
  %row = arith.minsi %m0, %zero : index
  %start = tile.broadcast %none over (%m, %d) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%carried = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %table = tile.load @table[%j] : index
    %seen = arith.cmpi sge, %table, %zero : index
    %at = tile.load @at[%j] : index
    %low = arith.cmpi sge, %at, %zero : index
    %high = arith.cmpi slt, %at, %N : index
    %in = arith.andi %low, %high : i1
    %y = tile.load @y[%at] where %in : f32
    %x = tile.load @x[%j, %d] : f32
    %left = arith.select %seen, %x, %none : f32
    %weight = tile.broadcast %y over (%m) : f32 to f32
    %dot = tile.dot %weight, %left over %j rounded to "f16" : f32
    %total = tile.sum %x over %j : f32 to f32
    %wide = tile.broadcast %total over (%m) : f32 to f32
    %both = arith.addf %dot, %wide : f32
    %next = arith.addf %carried, %both : f32
    tile.yield %next : f32
  }
  tile.store @o[%m, %d] = %sum : f32
}

// CHECK:      arith.addf %carried
// CHECK-NEXT: tile.kept %table, %x, %left : index, f32, f32
// CHECK-NEXT: tile.yield
// CHECK-NOT:  tile.kept
