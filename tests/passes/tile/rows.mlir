// RUN: attndsl opt %s --passes tile{rows=4,keys=8},canonicalize,cse
// One axis numbers the rows; two extents that may be negative count as none before they are multiplied.

spec.tensor @n "input" "i32" ["B"]
spec.tensor @o "output" "f32" ["B", "H", "M"]

// CHECK-LABEL: tile.kernel @digits {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:    %b = tile.program "b" to %B step [[V0]]
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V1:%\w+]] = arith.muli %M, %H : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.constant 2 : index
// CHECK-NEXT:    %i_h0 = tile.program "i_h" to [[V1]] step [[V2]]
// CHECK-NEXT:    %i_h = tile.range "i_h" from %i_h0 to [[V1]] size [[V2]]
// CHECK-NEXT:    %h = spec.mod %i_h, %H
// CHECK-NEXT:    %i = arith.floordivsi %i_h, %H : index
// CHECK-NEXT:    %x = spec.to_float %i : f32
// CHECK-NEXT:    tile.store @o[%b, %h, %i] = %x : f32
// CHECK-NEXT:  }
attn.kernel @digits schedule {"tile_rows" = 2 : i64} {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %b = attn.grid "b" to %B
  %i = attn.row "i" to %M
  %h = attn.row "h" to %H
  %x = spec.to_float %i : f32
  attn.write @o[%b, %h, %i] = %x : f32
}

// CHECK-LABEL: tile.kernel @ragged {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:    %b = tile.program "b" to %B step [[V0]]
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %n = tile.load @n[%b] : index
// CHECK-NEXT:    %rows = arith.minsi %n, %M : index
// CHECK-NEXT:    %heads = arith.minsi %n, %H : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:    %rows_1 = arith.maxsi %rows, [[V1]] : index
// CHECK-NEXT:    %heads_1 = arith.maxsi %heads, [[V1]] : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.muli %rows_1, %heads_1 : index
// CHECK-NEXT:    [[V3:%\w+]] = arith.muli %M, %H : index
// CHECK-NEXT:    [[V4:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:    %i_h0 = tile.program "i_h" to [[V2]] up to [[V3]] step [[V4]]
// CHECK-NEXT:    %i_h = tile.range "i_h" from %i_h0 to [[V2]] size [[V4]]
// CHECK-NEXT:    %h = spec.mod %i_h, %heads_1
// CHECK-NEXT:    %i = arith.floordivsi %i_h, %heads_1 : index
// CHECK-NEXT:    %x = spec.to_float %i : f32
// CHECK-NEXT:    tile.store @o[%b, %h, %i] = %x : f32
// CHECK-NEXT:  }
attn.kernel @ragged {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %b = attn.grid "b" to %B
  %n = attn.read @n[%b] : index
  %rows = arith.minsi %n, %M : index
  %heads = arith.minsi %n, %H : index
  %i = attn.row "i" to %rows up to %M
  %h = attn.row "h" to %heads up to %H
  %x = spec.to_float %i : f32
  attn.write @o[%b, %h, %i] = %x : f32
}
