// RUN: attndsl opt %s --passes 'tile{rows=4 keys=8 fixed=true},canonicalize,cse,scan-keys{chunk=16},share-scans,canonicalize,cse'
// A look stays in its kernel where no two programs find the same, where it is for no tile of rows, and where splits of
// the keys are folded.

// CHECK-NOT: "workspace"
// CHECK-NOT: scheduled as
spec.tensor @x "input" "f32" ["B", "H", "N"]
spec.tensor @row "input" "i32" ["B", "H", "M"]
spec.tensor @key "input" "i32" ["B", "N"]
spec.tensor @valid "input" "bool" ["B", "N"]
spec.tensor @o "output" "f32" ["B", "H", "M"]
spec.tensor @p "output" "f32" ["B", "H", "M"]
spec.tensor @u "output" "f32" ["B", "H", "M"]

// CHECK:       tile.kernel @of_each_head {
// CHECK:         %seen_start, %seen_stop, %held_start, %held_stop = tile.loop
attn.kernel @of_each_head {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%b, %h, %j] : f32
  %r = attn.read @row[%b, %h, %i] : index
  %c = attn.read @key[%b, %j] : index
  %same = arith.cmpi eq, %r, %c : index
  %t = attn.max %x over %j where %same : f32
  attn.write @o[%b, %h, %i] = %t : f32
}

// CHECK:       tile.kernel @for_all_rows {
// CHECK:         %seen_start, %seen_stop, %held_start, %held_stop = tile.loop
attn.kernel @for_all_rows {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%b, %h, %j] : f32
  %valid = attn.read @valid[%b, %j] : i1
  %t = attn.max %x over %j where %valid : f32
  attn.write @p[%b, %h, %i] = %t : f32
}

// CHECK:       tile.kernel @of_a_split form "split" {
// CHECK:         %seen_start, %seen_stop, %held_start, %held_stop = tile.loop
attn.kernel @of_a_split form "split" {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %zero = arith.constant 0 : index
  %x = attn.read @x[%b, %h, %j] : f32
  %r = attn.read @row[%b, %zero, %i] : index
  %c = attn.read @key[%b, %j] : index
  %same = arith.cmpi eq, %r, %c : index
  %t = attn.max %x over %j where %same : f32
  attn.write @u[%b, %h, %i] = %t : f32
}
