// RUN: attndsl opt %s --passes assign-threads{least=1}

// Programs of tiles of rows add to what is each key's, in a loop over keys: they are stepped through outside of the
// heads, which threads share. Not where a place moves with the rows, which have not all passed it then.

spec.tensor @x "input" "f32" ["H", "M", "N"]
spec.tensor @o "output" "f32" ["H", "N"] partial
spec.tensor @p "output" "f32" ["H", "M + N"] partial
tile.kernel @keys {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %h = tile.program "h" to %H step %c1
  %i0 = tile.program "i" to %M step %c64
  %i = tile.range "i" from %i0 to %M size %c64
  tile.loop %j0 = %c0 to %N step %c64 {
    %j = tile.range "j" from %j0 to %N size %c64
    %x = tile.load @x[%h, %i, %j] : f32
    %sum = tile.sum %x over %i : f32 to f32
    tile.store @o[%h, %j] = %sum adds along (%i0) : f32
    tile.yield
  }
}
tile.kernel @lines {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %h = tile.program "h" to %H step %c1
  %i0 = tile.program "i" to %M step %c64
  %i = tile.range "i" from %i0 to %M size %c64
  tile.loop %j0 = %c0 to %N step %c64 {
    %j = tile.range "j" from %j0 to %N size %c64
    %x = tile.load @x[%h, %i, %j] : f32
    %sum = tile.sum %x over %i : f32 to f32
    %place = arith.addi %j, %i0 : index
    tile.store @p[%h, %place] = %sum adds along (%i0) : f32
    tile.yield
  }
}

// CHECK-LABEL: tile.kernel @keys
// CHECK:         tile.threads share "h" in steps of "i" where %worth
// CHECK:         %i0 = tile.program "i" to %M_1 step %c64_1
// CHECK:         %h = tile.program "h" to %H_1 step %c1
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M_1 size %c64_1
// CHECK-LABEL: tile.kernel @lines
// CHECK:         tile.threads share "h" where %worth
// CHECK:         %h = tile.program "h" to %H_1 step %c1
// CHECK-NEXT:    %i0 = tile.program "i" to %M_1 step %c64_1
