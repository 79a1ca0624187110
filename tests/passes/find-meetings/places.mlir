// RUN: attndsl opt %s --passes find-meetings
// What a place tells of a row: an index that is moved, or times a number; not one that is divided, or that data move.

spec.tensor @x "input" "f32" ["B", "H", "M"]
spec.tensor @t "input" "i32" ["B"]
spec.tensor @o "output" "f32" ["B", "H", "M"] partial
spec.tensor @s "output" "f32" ["M"] partial
spec.tensor @n "output" "f32" [] partial

// CHECK-LABEL: attn.kernel @every_row_is_told {
// CHECK: attn.write @o[%b, %h, %j] = %x adds along() where %in : f32
attn.kernel @every_row_is_told {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %two = arith.constant 2 : index
  %twice = arith.muli %i, %two : index
  %j = arith.subi %twice, %b : index
  %x = attn.read @x[%b, %h, %i] : f32
  %zero = arith.constant 0 : index
  %low = arith.cmpi sle, %zero, %j : index
  %high = arith.cmpi slt, %j, %M : index
  %in = arith.andi %low, %high : i1
  attn.write @o[%b, %h, %j] = %x adds along(%b, %h, %i) where %in : f32
}

// CHECK-LABEL: attn.kernel @one_is_divided_and_one_is_not_there {
// CHECK: attn.write @o[%g, %g, %i] = %x adds along(%b, %h) : f32
attn.kernel @one_is_divided_and_one_is_not_there {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %two = arith.constant 2 : index
  %g = arith.floordivsi %h, %two : index
  %x = attn.read @x[%b, %h, %i] : f32
  attn.write @o[%g, %g, %i] = %x adds along(%b, %h, %i) : f32
}

// Of two that a place tells together, the second follows where the first is given.
// CHECK-LABEL: attn.kernel @data_move_them {
// CHECK: attn.write @s[%j] = %x adds along(%b) where %in : f32
attn.kernel @data_move_them {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %b = attn.each "b" to %B
  %i = attn.each "i" to %M
  %t = attn.read @t[%b] : index
  %j = arith.addi %t, %i : index
  %x = attn.read @x[%b, %b, %i] : f32
  %zero = arith.constant 0 : index
  %low = arith.cmpi sle, %zero, %j : index
  %high = arith.cmpi slt, %j, %M : index
  %in = arith.andi %low, %high : i1
  attn.write @s[%j] = %x adds along(%b, %i) where %in : f32
}

// CHECK-LABEL: attn.kernel @two_writes_may_meet {
// CHECK: attn.write @s[%i] = %x adds along(%i) : f32
// CHECK: attn.write @s[%j] = %x adds along(%i) where %in : f32
// CHECK: attn.write @n[] = %x adds along(%i) : f32
attn.kernel @two_writes_may_meet {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %one = arith.constant 1 : index
  %zero = arith.constant 0 : index
  %j = arith.addi %i, %one : index
  %x = attn.read @x[%zero, %zero, %i] : f32
  attn.write @s[%i] = %x adds along(%i) : f32
  %low = arith.cmpi sle, %zero, %j : index
  %high = arith.cmpi slt, %j, %M : index
  %in = arith.andi %low, %high : i1
  attn.write @s[%j] = %x adds along(%i) where %in : f32
  attn.write @n[] = %x adds along(%i) : f32
}
