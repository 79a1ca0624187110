// RUN: attndsl opt %s --passes 'split-reduction{splits=4 rows=8 keys=16}'
// Extents say whether keys are cut, into a number of splits that no launch chooses; the rows of what merges stay rows.

spec.tensor @s "input" "f32" ["B", "M", "N"]
spec.tensor @o "output" "f32" ["B", "M"]
spec.tensor @two "output" "f32" ["B", "M"]
spec.tensor @whole "output" "f32" ["B", "M"]

// CHECK-LABEL: spec.tensor @batch_sum "workspace" "f32" ["B", "M", "4"]
// CHECK-NEXT:  attn.kernel @batch_split when "B * ((M + 7) // 8) < 4 and N >= 16" {
// CHECK:         %[[splits:\S+]] = arith.constant 4 : index
// CHECK-NEXT:    %split = attn.grid "split" to %[[splits]]
// CHECK-NEXT:    %j = attn.over "j" to %N split %split of %[[splits]]
// CHECK-NEXT:    %x = attn.read @s[%b, %i, %j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @batch_sum[%b, %i, %split] = %t : f32
// CHECK-NEXT:  }
// CHECK-NEXT:  attn.kernel @batch_merge when "B * ((M + 7) // 8) < 4 and N >= 16" {
// CHECK:         %i = attn.row "i" to %M
// CHECK:         attn.write @o[%b, %i]
// CHECK-NEXT:  }
// CHECK-NEXT:  attn.kernel @batch unless "B * ((M + 7) // 8) < 4 and N >= 16" {
// CHECK:         attn.write @o[%b, %i]
// CHECK-NEXT:  }
attn.kernel @batch {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @s[%b, %i, %j] : f32
  %t = attn.total %x over %j : f32
  attn.write @o[%b, %i] = %t : f32
}

// Two variables that tell programs apart have many values.
// CHECK-NEXT:  attn.kernel @many {
attn.kernel @many {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %i = attn.grid "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @s[%b, %i, %j] : f32
  %t = attn.total %x over %j : f32
  attn.write @two[%b, %i] = %t : f32
}

// What a spec pins stays.
// CHECK:       attn.kernel @pinned schedule {split_k = 2 : i64} {
// CHECK-NOT:   attn.kernel
attn.kernel @pinned schedule {"split_k" = 2 : i64} {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @s[%b, %i, %j] : f32
  %t = attn.total %x over %j : f32
  attn.write @whole[%b, %i] = %t : f32
}
