// RUN: attndsl opt %s --passes 'tile{rows=4 keys=8 columns=3},canonicalize,cse'
// Columns are an axis of their own. What rests on rows alone comes before, and what all of a tile adds to one element is
// summed up along each axis that it meets on.

spec.tensor @q "input" "f32" ["B", "M", "D"]
spec.tensor @k "input" "f32" ["B", "N", "D"]
spec.tensor @n "input" "i32" ["B"]
spec.tensor @p "output" "f32" ["B", "M", "N"] partial
spec.tensor @s "output" "f32" ["B", "N"] partial
spec.tensor @t "output" "f32" ["B"] partial

// CHECK-LABEL: tile.kernel @ragged {
// CHECK:         %i = tile.range "i" from %i0 to %M size
// CHECK:         %q = tile.load @q[%b, %i, %d] : f32
// CHECK:         %j0 = tile.program columns "j" to %most up to %N step [[STEP:%\w+]]
// CHECK-NEXT:    %j = tile.range "j" from %j0 to %most size [[STEP]]
// CHECK-NEXT:    %k = tile.load @k[%b, %j, %d] : f32
// CHECK-NEXT:    %s = tile.dot %q, %k over %d : f32
// CHECK-NEXT:    tile.store @p[%b, %i, %j] = %s : f32
attn.kernel @ragged {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.grid "b" to %B
  %n = attn.read @n[%b] : index
  %most = arith.minsi %n, %N : index
  %i = attn.row "i" to %M
  %j = attn.column "j" to %most up to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  attn.write @p[%b, %i, %j] = %s : f32
}

// CHECK-LABEL: tile.kernel @sums {
// CHECK:         %j0 = tile.program columns "j" to %N step
// CHECK:         %s = tile.broadcast {{%\w+}} over(%i, %j) : f32 to f32
// CHECK-NEXT:    %s_1 = tile.loop %d0 =
// CHECK:           tile.dot %q, %k over %d precise : f32
// CHECK:         %s_4 = tile.sum %s_1 over %i : f32 to f32
// CHECK-NEXT:    tile.store @s[%b, %j] = %s_4 adds along(%i0) : f32
// CHECK-NEXT:    %s_5 = tile.sum %s_4 over %j : f32 to f32
// CHECK-NEXT:    tile.store @t[%b] = %s_5 adds along(%i0, %j0) : f32
attn.kernel @sums {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = attn.grid "b" to %B
  %i = attn.row "i" to %M
  %j = attn.column "j" to %N
  %d = attn.over "d" to %D
  %q = attn.read @q[%b, %i, %d] : f32
  %k = attn.read @k[%b, %j, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.total %x over %d precise : f32
  attn.write @s[%b, %j] = %s adds along(%i) : f32
  attn.write @t[%b] = %s adds along(%i, %j) : f32
}
