// RUN: attndsl opt %s --passes 'tile{rows=4 keys=4}'
// A program without rows adds to the elements of keys what it has for these, where they are seen.

spec.tensor @x "input" "f32" ["B", "M"]
spec.tensor @y "input" "f32" ["B", "N"]
spec.tensor @sum "output" "f32" ["B", "N"]
spec.tensor @o "output" "f32" ["B", "M"]

// CHECK-LABEL: tile.kernel @adds
// CHECK:         tile.loop %i = %{{\S+}} to %M
// CHECK:           %seen = arith.cmpi sle, %j, %i : index
// CHECK:           arith.addf
// CHECK-NEXT:      %[[one:\S+]] = arith.mulf %x, %y : f32
// CHECK-NEXT:      %[[two:\S+]] = arith.mulf %[[one]], %y : f32
// CHECK-NEXT:      %[[shown:\S+]] = arith.select %seen, %[[two]], %{{\S+}} : f32
// CHECK-NEXT:      tile.store @o[%b, %i] = %[[shown]] adds along(%j) : f32
attn.kernel @adds {
  %zero = arith.constant 0 : index
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %j = attn.grid "j" to %N
  %i = attn.over "i" to %M
  %y = attn.read @y[%b, %j] : f32
  %x = attn.read @x[%b, %i] : f32
  %t = arith.mulf %x, %y : f32
  %seen = arith.cmpi sle, %j, %i : index
  %s = attn.total %t over %i where %seen : f32
  attn.write @sum[%b, %j] = %s : f32
  %u = arith.mulf %t, %y : f32
  attn.scatter @o[%b, %i] = %u over %i along(%j) where %seen : f32
}
