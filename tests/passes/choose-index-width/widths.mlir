// RUN: attndsl opt %s --passes split-addresses,choose-index-width

// Numbers of rows and keys are bounded by dims and parameters. An integer that was read has no bound: it keeps 64 bits,
// and so do comparisons with it and the address that it is an index of, whose stride is in no bound.

spec.tensor @x "input" "f32" ["N"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["M"]
spec.parameter @window index = 3 : index
tile.kernel @read {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 16 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %window = spec.param "window" : index
  %i0 = tile.program "i" to %M step %size
  %i_end = arith.addi %i0, %size : index
  %i = tile.range "i" from %i0 to %i_end size %size
  %i_in = arith.cmpi slt, %i, %M : index
  %first = arith.subi %i, %window : index
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%carried = %start) -> (f32) {
    %j_end = arith.addi %j0, %size : index
    %j = tile.range "j" from %j0 to %j_end size %size
    %j_in = arith.cmpi slt, %j, %N : index
    %at = tile.load @table[%j] where %j_in : index
    %above = arith.cmpi sge, %at, %zero : index
    %below = arith.cmpi slt, %at, %N : index
    %far = arith.andi %above, %below : i1
    %valid = arith.andi %j_in, %far : i1
    %seen = arith.cmpi sge, %j, %first : index
    %x = tile.load @x[%at] where %valid : f32
    %counts = arith.andi %seen, %valid : i1
    %kept = arith.select %counts, %x, %none : f32
    %part = tile.sum %kept over %j : f32 to f32
    %next = arith.addf %carried, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%i] = %sum where %i_in : f32
}

// CHECK:      tile.kernel @read bounds [
// CHECK-SAME: "M"
// CHECK-SAME: "N"
// CHECK-SAME: @window
// CHECK-SAME: [@o, 0 : index]
// CHECK-SAME: [@table, 0 : index]
// CHECK-NOT:  [@x, 0 : index]
// CHECK:        %next = arith.addf
// CHECK-NEXT:   tile.narrow %j, %j_in, %seen : index, i1, i1
// CHECK-NEXT:   tile.yield
// CHECK:      tile.store
// CHECK-NEXT: tile.narrow %i, %i_in, %first : index, i1, index
