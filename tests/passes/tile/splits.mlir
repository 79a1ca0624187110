// RUN: attndsl opt %s --passes 'tile{rows=8 keys=512 grain=64}'
// Splits are alike but for a grain, however long a tile of keys is.

spec.tensor @s "input" "f32" ["M", "N"]
spec.tensor @parts "workspace" "f32" ["M", "4"]
spec.tensor @o "output" "f32" ["M"]

// CHECK:      %[[tile:\S+]] = arith.constant 512 : index
// CHECK-NEXT: %[[grain:\S+]] = arith.constant 64 : index
// CHECK:      %[[grains:\S+]] = arith.muli %splits, %[[grain]] : index
// CHECK:      %[[each:\S+]] = arith.floordivsi %{{\S+}}, %[[grains]] : index
// CHECK-NEXT: %share = arith.muli %[[each]], %[[grain]] : index
// CHECK:      %{{\S+}} = tile.loop %j0 = %start to %stop step %[[tile]]
attn.kernel @k {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %splits = arith.constant 4 : index
  %split = attn.grid "split" to %splits
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N split %split of %splits
  %x = attn.read @s[%i, %j] : f32
  %t = attn.total %x over %j : f32
  attn.write @parts[%i, %split] = %t : f32
}

// Where they lie is open: their sum is not.
// CHECK: tile.kernel @merge {
attn.kernel @merge {
  %M = spec.dim "M"
  %splits = arith.constant 4 : index
  %i = attn.row "i" to %M
  %split = attn.over "split" to %splits
  %part = attn.read @parts[%i, %split] : f32
  %t = attn.total %part over %split : f32
  attn.write @o[%i] = %t : f32
}
