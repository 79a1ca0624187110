// RUN: attndsl opt %s --passes split-addresses,choose-index-width

// A program divides its number by an extent, once: as narrow, since a division of 64 bits is a call. What a launch
// divides is a kernel's argument, and no operation of a program.

spec.tensor @x "input" "f32" ["B"]
spec.tensor @o "output" "f32" ["H", "B"]
tile.kernel @divides {
  %size = arith.constant 16 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %zero = arith.constant 0 : index
  %H = spec.dim "H"
  %B = spec.dim "B"
  %h = tile.program "h" to %H step %one
  %b0 = tile.program "b" to %B step %size
  %half = arith.floordivsi %B, %two : index
  %least = arith.maxsi %half, %one : index
  %group = arith.floordivsi %h, %least : index
  %b_end = arith.addi %b0, %size : index
  %b = tile.range "b" from %b0 to %b_end size %size
  %b_in = arith.cmpi slt, %b, %B : index
  %g_in = arith.cmpi slt, %group, %B : index
  %in = arith.andi %b_in, %g_in : i1
  %place = arith.maxsi %group, %zero : index
  %x = tile.load @x[%place] where %g_in : f32
  %y = tile.load @x[%b] where %b_in : f32
  %sum = arith.addf %x, %y : f32
  tile.store @o[%h, %b] = %sum where %b_in : f32
}

// CHECK:      tile.kernel @divides bounds [
// CHECK-SAME: "B"
// CHECK-SAME: "H"
// CHECK:      tile.store
// CHECK-NEXT: tile.narrow %group, %b, %b_in : index, index, i1
