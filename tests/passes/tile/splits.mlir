// RUN: attndsl opt %s --passes 'tile{rows=8 keys=3}'
// No split has two tiles more than another; what is left of the keys is the last one's.

spec.tensor @s "input" "f32" ["M", "N"]
spec.tensor @parts "workspace" "f32" ["M", "4"]
spec.tensor @o "output" "f32" ["M"]

// CHECK:      %whole = arith.floordivsi %{{\S+}}, %[[tile:\S+]] : index
// CHECK-NEXT: %each = arith.floordivsi %whole, %splits : index
// CHECK-NEXT: %[[equal:\S+]] = arith.muli %each, %splits : index
// CHECK-NEXT: %more = arith.subi %whole, %[[equal]] : index
// CHECK:      %[[before:\S+]] = arith.muli %split, %each : index
// CHECK-NEXT: %[[longer:\S+]] = arith.minsi %split, %more : index
// CHECK-NEXT: %[[tiles:\S+]] = arith.addi %[[before]], %[[longer]] : index
// CHECK-NEXT: %first = arith.muli %[[tiles]], %[[tile]] : index
// CHECK:      %last = arith.select %{{\S+}}, %length, %{{\S+}} : index
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
