// RUN: attndsl opt %s --passes 'split-reduction{splits=4 rows=8 keys=16}'
// Heads that lie beside each other behind each key are computed together: they are cut as one where rows are few, of half
// as many keys, if all heads have enough; not those on which it rests where keys or rows end. All that a tile of what merges has are rows, unless those that meet in an element add to it.

spec.tensor @q "input" "f32" ["B", "M", "H", "D"]
spec.tensor @k "input" "f32" ["B", "N", "H", "D"]
spec.tensor @apart "input" "f32" ["B", "H", "N", "D"]
spec.tensor @bias "input" "f32" ["N", "H"]
spec.tensor @o "output" "f32" ["B", "M", "H"]
spec.tensor @two "output" "f32" ["B", "M", "H"]
spec.tensor @sum "output" "f32" ["B", "M"]
spec.tensor @whole "output" "f32" ["B", "H"]
spec.tensor @length "input" "i32" ["H"]
spec.tensor @ended "output" "f32" ["B", "M", "H"]
spec.tensor @last "output" "f32" ["B", "M", "H"] partial

// CHECK:       attn.kernel @beside_split when "N >= 8 and H * N >= 64 and B < 4 and M <= 16" {
// CHECK:         %b = attn.grid "b" to %B
// CHECK-NEXT:    %h = attn.grid "h" to %H
// CHECK-NEXT:    %i = attn.row "i" to %M
// CHECK:       attn.kernel @beside_merge when "N >= 8 and H * N >= 64 and B < 4 and M <= 16" {
// CHECK:         %b = attn.row "b" to %B
// CHECK-NEXT:    %h = attn.row "h" to %H
// CHECK-NEXT:    %i = attn.row "i" to %M
// CHECK:       attn.kernel @beside unless "N >= 8 and H * N >= 64 and B < 4 and M <= 16" {
attn.kernel @beside {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %H = spec.dim "H"
  %D = spec.dim "D"
  %b = attn.grid "b" to %B
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %i, %h, %d] : f32
  %k = attn.read @k[%b, %j, %h, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  %t = attn.total %s over %j : f32
  attn.write @o[%b, %i, %h] = %t : f32
}

// Keys of a head that lie one behind another leave two variables that tell programs apart, whatever a number of each is.
// CHECK:       attn.kernel @apart {
attn.kernel @apart {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %H = spec.dim "H"
  %D = spec.dim "D"
  %b = attn.grid "b" to %B
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %i, %h, %d] : f32
  %k = attn.read @apart[%b, %h, %j, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  %bias = attn.read @bias[%j, %h] : f32
  %y = arith.addf %s, %bias : f32
  %t = attn.total %y over %j : f32
  attn.write @two[%b, %i, %h] = %t : f32
}

// CHECK:       attn.kernel @meeting_merge when "N >= 8 and H * N >= 64 and B < 4 and M <= 16" {
// CHECK:         %b = attn.grid "b" to %B
// CHECK-NEXT:    %h = attn.grid "h" to %H
attn.kernel @meeting {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %H = spec.dim "H"
  %D = spec.dim "D"
  %b = attn.grid "b" to %B
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %i, %h, %d] : f32
  %k = attn.read @k[%b, %j, %h, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  %t = attn.total %s over %j : f32
  attn.write @sum[%b, %i] = %t adds along(%h) : f32
}

// Without rows nothing multiplies matrices: programs stay apart, and are cut as any others.
// CHECK:       attn.kernel @row_split when "H * ((1 + 7) // 8) < 4 and N >= 16" {
attn.kernel @row {
  %zero = arith.constant 0 : index
  %N = spec.dim "N"
  %H = spec.dim "H"
  %D = spec.dim "D"
  %h = attn.grid "h" to %H
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %k = attn.read @k[%zero, %j, %h, %d] : f32
  %s = attn.sum %k over %d : f32
  %t = attn.total %s over %j : f32
  attn.write @whole[%zero, %h] = %t : f32
}

// CHECK:       attn.kernel @ends {
attn.kernel @ends {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %H = spec.dim "H"
  %D = spec.dim "D"
  %b = attn.grid "b" to %B
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %M
  %length = attn.read @length[%h] : index
  %stop = arith.minsi %length, %N : index
  %j = attn.over "j" to %stop up to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%b, %i, %h, %d] : f32
  %k = attn.read @k[%b, %j, %h, %d] : f32
  %x = arith.mulf %q, %k : f32
  %s = attn.sum %x over %d : f32
  %t = attn.total %s over %j : f32
  attn.write @ended[%b, %i, %h] = %t : f32
}

// CHECK:       attn.kernel @lone_split when "N >= 8 and H * N >= 64" {
attn.kernel @lone {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %N = spec.dim "N"
  %H = spec.dim "H"
  %D = spec.dim "D"
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %one
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %k = attn.read @k[%zero, %j, %h, %d] : f32
  %s = attn.sum %k over %d : f32
  %t = attn.total %s over %j : f32
  attn.write @last[%zero, %i, %h] = %t : f32
}
