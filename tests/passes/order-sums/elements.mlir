// RUN: attndsl opt %s --passes order-sums
// What the places of a write tell stays a row, other places are rows by themselves, and all else is one key.

spec.tensor @x "input" "f32" ["B", "H", "M"]
spec.tensor @t "input" "i32" ["M"]
spec.tensor @n "input" "i32" ["B"]
spec.tensor @o "output" "f32" ["B", "M"] partial
spec.tensor @p "output" "f32" ["B + 1", "H", "M"] partial
spec.tensor @s "output" "f32" ["M"] partial

// CHECK-LABEL: attn.kernel @one_is_missing {
// CHECK: %h = attn.over "h" to %H
// CHECK: %total = attn.total %x over %h precise : f32
// CHECK: attn.write @o[%b, %i] = %total adds along(%b, %i)
attn.kernel @one_is_missing schedule {deterministic = true} {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %x = attn.read @x[%b, %h, %i] : f32
  attn.write @o[%b, %i] = %x adds along(%b, %h, %i) : f32
}

// Of a quotient the remainder is a key, of which the last group has fewer.
// CHECK-LABEL: attn.kernel @groups {
// CHECK: %i_group = attn.each "i_group" to
// CHECK: %i = attn.over "i" to %{{.+}} up to %two
// CHECK: attn.write @s[%i_group] = %total adds along(%i_group)
attn.kernel @groups schedule {deterministic = true} {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %x = attn.read @x[%zero, %zero, %i] : f32
  %g = arith.floordivsi %i, %two : index
  attn.write @s[%g] = %x adds along(%i) : f32
}

// Two variables that one place is made of are digits of a key; the row that is told has more of them for some keys.
// CHECK-LABEL: attn.kernel @digits {
// CHECK: %b_h = attn.over "b_h" to
// CHECK: arith.floordivsi %b_h, %
// CHECK: spec.mod %{{.+}}, %
// CHECK: %at = attn.each "at" to
// CHECK: attn.write @p[%at, %zero, %i] = %total adds along(%i, %at)
attn.kernel @digits schedule {deterministic = true} {
  %zero = arith.constant 0 : index
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %rows = attn.read @n[%b] : index
  %least = arith.maxsi %rows, %zero : index
  %some = arith.minsi %least, %M : index
  %i = attn.each "i" to %some up to %M
  %x = attn.read @x[%b, %h, %i] : f32
  %bh = arith.addi %b, %h : index
  %B_1 = spec.dim "B"
  %in = arith.cmpi sle, %bh, %B_1 : index
  attn.write @p[%bh, %zero, %i] = %x adds along(%b, %h, %i) where %in : f32
}

// What takes a reduction is left by the kernel that was there; two writes to one tensor become one for each kernel.
// CHECK: spec.tensor @total_x "workspace" "f32" ["M"]
// CHECK-LABEL: attn.kernel @reduced schedule {deterministic = true} {
// CHECK-NOT: attn.write @s[%i] = %t
// CHECK: attn.write @s[%i] = %x1 adds along(%i)
// CHECK: attn.write @total_x[%i] = %total_x : f32
// CHECK-LABEL: attn.kernel @reduced_s_0 {
// CHECK: %total_x = attn.read @total_x[%i] : f32
// CHECK: %at = attn.each "at" to
// CHECK: %total = attn.total %total_x over %i where %{{.+}} precise : f32
// CHECK: attn.write @s[%at] = %total adds along(%at)
attn.kernel @reduced schedule {deterministic = true} {
  %zero = arith.constant 0 : index
  %H = spec.dim "H"
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %h = attn.over "h" to %H
  %x = attn.read @x[%zero, %h, %i] : f32
  %total_x = attn.total %x over %h : f32
  %place = attn.read @t[%i] : index
  %low = arith.cmpi sle, %zero, %place : index
  %high = arith.cmpi slt, %place, %M : index
  %in = arith.andi %low, %high : i1
  attn.write @s[%place] = %total_x adds along(%i) where %in : f32
  %x1 = attn.read @x[%zero, %zero, %i] : f32
  attn.write @s[%i] = %x1 adds along(%i) : f32
}

// CHECK-LABEL: attn.kernel @not_asked {
// CHECK: attn.write @s[%zero] = %x adds along(%i)
attn.kernel @not_asked {
  %zero = arith.constant 0 : index
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %x = attn.read @x[%zero, %zero, %i] : f32
  attn.write @s[%zero] = %x adds along(%i) : f32
}

// CHECK-LABEL: attn.kernel @no_rows_meet schedule {deterministic = true} {
// CHECK: attn.write @s[%up] = %x adds along(%i)
attn.kernel @no_rows_meet schedule {deterministic = true} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %x = attn.read @x[%zero, %zero, %i] : f32
  %up = arith.addi %i, %one : index
  %in = arith.cmpi slt, %up, %M : index
  attn.write @s[%up] = %x adds along(%i) where %in : f32
}
