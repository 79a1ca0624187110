// RUN: attndsl opt %s --passes pack-rows,canonicalize,cse
// Variables that the place of a key rests on stay apart; the others number the rows of a tile.

spec.tensor @q "input" "f32" ["B", "H", "M", "D"]
spec.tensor @k "input" "f32" ["B", "H", "N", "D"]
spec.tensor @n "input" "i32" ["B"]
spec.tensor @t "input" "i32" ["B", "M", "N"]
spec.tensor @o "output" "f32" ["B", "H", "M"]

// CHECK-LABEL: attn.kernel @heads_in_groups {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %four = arith.constant 4 : index
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 3 : index
// CHECK-NEXT:    [[V2:%\d+]] = arith.addi %H, [[V1]] : index
// CHECK-NEXT:    [[V3:%\d+]] = arith.floordivsi [[V2]], %four : index
// CHECK-NEXT:    %h_four = attn.grid "h_four" to [[V3]]
// CHECK-NEXT:    [[V4:%\d+]] = arith.muli %h_four, %four : index
// CHECK-NEXT:    [[V5:%\d+]] = arith.subi %H, [[V4]] : index
// CHECK-NEXT:    [[V6:%\d+]] = arith.minsi %four, [[V5]] : index
// CHECK-NEXT:    %h = attn.row "h" to [[V6]]
// CHECK-NEXT:    %h_1 = arith.addi [[V4]], %h : index
// CHECK-NEXT:    %i = attn.row "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %g = arith.floordivsi %h_1, %four : index
// CHECK-NEXT:    %q = attn.read @q[%b, %h_1, %i, %d] : f32
// CHECK-NEXT:    %k = attn.read @k[%b, %g, %j, %d] : f32
// CHECK-NEXT:    %p = arith.mulf %q, %k : f32
// CHECK-NEXT:    %s = attn.sum %p over %d : f32
// CHECK-NEXT:    %m = attn.max %s over %j : f32
// CHECK-NEXT:    attn.write @o[%b, %h_1, %i] = %m : f32
// CHECK-NEXT:  }
attn.kernel @heads_in_groups {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %four = arith.constant 4 : index
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %g = arith.floordivsi %h, %four : index
  %q = attn.read @q[%b, %h, %i, %d] : f32
  %k = attn.read @k[%b, %g, %j, %d] : f32
  %p = arith.mulf %q, %k : f32
  %s = attn.sum %p over %d : f32
  %m = attn.max %s over %j : f32
  attn.write @o[%b, %h, %i] = %m : f32
}

// CHECK-LABEL: attn.kernel @what_the_mask_rests_on_varies_slowest {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %i = attn.row "i" to %M
// CHECK-NEXT:    %h = attn.row "h" to %H
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %q = attn.read @q[%b, %h, %i, %d] : f32
// CHECK-NEXT:    %k = attn.read @k[%b, %zero, %j, %d] : f32
// CHECK-NEXT:    %p = arith.mulf %q, %k : f32
// CHECK-NEXT:    %s = attn.sum %p over %d : f32
// CHECK-NEXT:    %seen = arith.cmpi sle, %j, %i : index
// CHECK-NEXT:    %m = attn.max %s over %j where %seen : f32
// CHECK-NEXT:    attn.write @o[%b, %h, %i] = %m : f32
// CHECK-NEXT:  }
attn.kernel @what_the_mask_rests_on_varies_slowest {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %zero = arith.constant 0 : index
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %h, %i, %d] : f32
  %k = attn.read @k[%b, %zero, %j, %d] : f32
  %p = arith.mulf %q, %k : f32
  %s = attn.sum %p over %d : f32
  %seen = arith.cmpi sle, %j, %i : index
  %m = attn.max %s over %j where %seen : f32
  attn.write @o[%b, %h, %i] = %m : f32
}

// CHECK-LABEL: attn.kernel @lengths_that_are_read {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %n = attn.read @n[%b] : index
// CHECK-NEXT:    %length = arith.minsi %n, %M : index
// CHECK-NEXT:    %h = attn.row "h" to %H
// CHECK-NEXT:    %i = attn.row "i" to %length up to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %q = attn.read @q[%b, %h, %i, %d] : f32
// CHECK-NEXT:    %k = attn.read @k[%zero, %zero, %j, %d] : f32
// CHECK-NEXT:    %p = arith.mulf %q, %k : f32
// CHECK-NEXT:    %s = attn.sum %p over %d : f32
// CHECK-NEXT:    %m = attn.max %s over %j : f32
// CHECK-NEXT:    attn.write @o[%b, %h, %i] = %m : f32
// CHECK-NEXT:  }
attn.kernel @lengths_that_are_read {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %zero = arith.constant 0 : index
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %n = attn.read @n[%b] : index
  %length = arith.minsi %n, %M : index
  %i = attn.each "i" to %length up to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %h, %i, %d] : f32
  %k = attn.read @k[%zero, %zero, %j, %d] : f32
  %p = arith.mulf %q, %k : f32
  %s = attn.sum %p over %d : f32
  %m = attn.max %s over %j : f32
  attn.write @o[%b, %h, %i] = %m : f32
}

// CHECK-LABEL: attn.kernel @keys_chosen_for_each_row {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %i = attn.grid "i" to %M
// CHECK-NEXT:    %h = attn.row "h" to %H
// CHECK-NEXT:    %t = attn.over "t" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %D
// CHECK-NEXT:    %j = attn.read @t[%b, %i, %t] : index
// CHECK-NEXT:    %low = arith.cmpi sle, %zero, %j : index
// CHECK-NEXT:    %high = arith.cmpi slt, %j, %N : index
// CHECK-NEXT:    %inside = arith.andi %low, %high : i1
// CHECK-NEXT:    %q = attn.read @q[%b, %h, %i, %d] : f32
// CHECK-NEXT:    %k = attn.read @k[%b, %zero, %j, %d] where %inside : f32
// CHECK-NEXT:    %p = arith.mulf %q, %k : f32
// CHECK-NEXT:    %s = attn.sum %p over %d : f32
// CHECK-NEXT:    %m = attn.max %s over %t where %inside : f32
// CHECK-NEXT:    attn.write @o[%b, %h, %i] = %m : f32
// CHECK-NEXT:  }
attn.kernel @keys_chosen_for_each_row {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %zero = arith.constant 0 : index
  %b = attn.each "b" to %B
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %t = attn.over "t" to %N
  %d = attn.axis "d" to %D
  %j = attn.read @t[%b, %i, %t] : index
  %low = arith.cmpi sle, %zero, %j : index
  %high = arith.cmpi slt, %j, %N : index
  %inside = arith.andi %low, %high : i1
  %q = attn.read @q[%b, %h, %i, %d] : f32
  %k = attn.read @k[%b, %zero, %j, %d] where %inside : f32
  %p = arith.mulf %q, %k : f32
  %s = attn.sum %p over %d : f32
  %m = attn.max %s over %t where %inside : f32
  attn.write @o[%b, %h, %i] = %m : f32
}
