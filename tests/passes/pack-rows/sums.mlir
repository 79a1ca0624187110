// RUN: attndsl opt %s --passes pack-rows
// Rows of a tile that add meet nowhere, or all in one place, as far as that is known.

spec.tensor @x "input" "f32" ["B", "H", "M"]
spec.tensor @t "input" "i32" ["M"]
spec.tensor @o "output" "f32" ["B", "M"] partial
spec.tensor @s "output" "f32" ["B"] partial

// CHECK-LABEL: attn.kernel @heads_meet {
// CHECK: %h = attn.grid "h" to %H
// CHECK: %b = attn.row "b" to %B
// CHECK-NEXT: %i = attn.row "i" to %M
// CHECK: attn.write @o[%b, %i] = %x adds along(%h) : f32
attn.kernel @heads_meet {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %x = attn.read @x[%b, %h, %i] : f32
  attn.write @o[%b, %i] = %x adds along(%h) : f32
}

// CHECK-LABEL: attn.kernel @all_rows_of_a_tile_meet {
// CHECK: %b = attn.grid "b" to %B
// CHECK: %h = attn.row "h" to %H
// CHECK-NEXT: %i = attn.row "i" to %M
// CHECK: attn.write @s[%b] = %x adds along(%h, %i) : f32
attn.kernel @all_rows_of_a_tile_meet {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %x = attn.read @x[%b, %h, %i] : f32
  attn.write @s[%b] = %x adds along(%h, %i) : f32
}

// CHECK-LABEL: attn.kernel @data_say {
// CHECK: %h = attn.grid "h" to %H
// CHECK: %b = attn.row "b" to %B
// CHECK-NEXT: %i = attn.row "i" to %M
// CHECK: attn.write @o[%b, %j] = %x adds along(%h, %i) where %in : f32
attn.kernel @data_say {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %j = attn.read @t[%i] : index
  %x = attn.read @x[%b, %h, %i] : f32
  %zero = arith.constant 0 : index
  %low = arith.cmpi sle, %zero, %j : index
  %high = arith.cmpi slt, %j, %M : index
  %in = arith.andi %low, %high : i1
  attn.write @o[%b, %j] = %x adds along(%h, %i) where %in : f32
}
