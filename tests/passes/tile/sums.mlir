// RUN: attndsl opt %s --passes tile
// Rows of a tile that all meet are summed first; what else meets, and in which programs, is said.

spec.tensor @x "input" "f32" ["B", "H", "M"]
spec.tensor @t "input" "i32" ["M"]
spec.tensor @o "output" "f32" ["B", "M"] partial
spec.tensor @s "output" "f32" ["B"] partial

// CHECK-LABEL: tile.kernel @programs_meet {
// CHECK: %h = tile.program "h" to %H step %{{.*}}
// CHECK: tile.store @o[%b, %i] = %x adds along(%h) : f32
attn.kernel @programs_meet {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %b = attn.grid "b" to %B
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %M
  %x = attn.read @x[%b, %h, %i] : f32
  attn.write @o[%b, %i] = %x adds along(%h) : f32
}

// CHECK-LABEL: tile.kernel @all_rows_meet {
// CHECK: %i0 = tile.program "i" to %M step %{{.*}}
// CHECK: %x_1 = tile.sum %x over %i : f32 to f32
// CHECK-NEXT: tile.store @s[%b] = %x_1 adds along(%i0) : f32
attn.kernel @all_rows_meet {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %b = attn.grid "b" to %B
  %i = attn.row "i" to %M
  %x = attn.read @x[%b, %b, %i] : f32
  attn.write @s[%b] = %x adds along(%i) : f32
}

// CHECK-LABEL: tile.kernel @some_rows_meet {
// CHECK: tile.store @o[%b, %j] = %x adds within along(%i0) where %in : f32
attn.kernel @some_rows_meet {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %b = attn.grid "b" to %B
  %i = attn.row "i" to %M
  %j = attn.read @t[%i] : index
  %x = attn.read @x[%b, %b, %i] : f32
  %zero = arith.constant 0 : index
  %low = arith.cmpi sle, %zero, %j : index
  %high = arith.cmpi slt, %j, %M : index
  %in = arith.andi %low, %high : i1
  attn.write @o[%b, %j] = %x adds along(%i) where %in : f32
}
