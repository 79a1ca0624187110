// RUN: attndsl opt %s --passes 'tile{rows=4 keys=8 fixed=true},canonicalize,cse,scan-keys{chunk=16},share-scans,canonicalize,cse'
// A look runs where the kernel does that it is for, by the programs that it rests on; a workspace has a place for each
// of them. What two looks find is left apart.

// CHECK:       spec.tensor @under_a_condition_found "workspace" "i64" ["B", "M", "4"]
spec.tensor @x "input" "f32" ["B", "H", "N"]
spec.tensor @row "input" "i32" ["B", "M"]
spec.tensor @key "input" "i32" ["B", "N"]
spec.tensor @length "input" "i32" ["B"]
spec.tensor @o "output" "f32" ["B", "H", "M"]
spec.tensor @p "output" "f32" ["B", "H", "M"]
spec.tensor @u "output" "f32" ["B", "H", "M"]

// CHECK:       tile.kernel @under_a_condition_look when "M < N" scheduled as @under_a_condition {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NOT:     tile.program "h"
// CHECK:         %i0 = tile.program "i" to %M step
// CHECK:         %seen_start, %seen_stop, %held_start, %held_stop = tile.loop
// CHECK:         tile.store @under_a_condition_found[%b, %i0, [[ZERO:%\d+]]] = %seen_start : index
// CHECK:         tile.store @under_a_condition_found[%b, %i0, [[ONE:%\d+]]] = %seen_stop : index
// CHECK:         tile.store @under_a_condition_found[%b, %i0, [[TWO:%\d+]]] = %held_start : index
// CHECK:         tile.store @under_a_condition_found[%b, %i0, [[THREE:%\d+]]] = %held_stop : index
// CHECK-NEXT:  }
// CHECK-NEXT:  tile.kernel @under_a_condition when "M < N" {
// CHECK:         %h = tile.program "h"
// CHECK:         %i0 = tile.program "i" to %M step
// CHECK-NOT:     tile.loop
// CHECK:         [[START:%\d+]] = tile.load @under_a_condition_found[%b, %i0, {{%\d+}}] : index
// CHECK-NEXT:    [[LEAST:%\d+]] = arith.minsi %N, [[START]] : index
// CHECK-NEXT:    %seen_start = arith.maxsi [[LEAST]], {{%\d+}} : index
// CHECK-NEXT:    [[STOP:%\d+]] = tile.load @under_a_condition_found[%b, %i0, {{%\d+}}] : index
// CHECK-NEXT:    %seen_stop = arith.maxsi {{%\d+}}, [[STOP]] : index
// CHECK:         %t_1 = tile.loop %j0 = %start to
attn.kernel @under_a_condition when "M < N" {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%b, %h, %j] : f32
  %r = attn.read @row[%b, %i] : index
  %c = attn.read @key[%b, %j] : index
  %same = arith.cmpi eq, %r, %c : index
  %t = attn.max %x over %j where %same : f32
  attn.write @o[%b, %h, %i] = %t : f32
}

// CHECK:       tile.kernel @rows_that_data_end_look scheduled as @rows_that_data_end {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NOT:     tile.program "h"
// CHECK:         %i0 = tile.program "i" to %stop up to %M step
// CHECK:         %seen_start, %seen_stop, %held_start, %held_stop = tile.loop
// CHECK:         tile.store @rows_that_data_end_found[%b, %i0, [[ZERO:%\d+]]] = %seen_start : index
// CHECK:         tile.store @rows_that_data_end_found[%b, %i0, [[ONE:%\d+]]] = %seen_stop : index
// CHECK:         tile.store @rows_that_data_end_found[%b, %i0, [[TWO:%\d+]]] = %held_start : index
// CHECK:         tile.store @rows_that_data_end_found[%b, %i0, [[THREE:%\d+]]] = %held_stop : index
// CHECK-NEXT:  }
// CHECK-NEXT:  tile.kernel @rows_that_data_end {
// CHECK:         %h = tile.program "h"
// CHECK:         %i0 = tile.program "i" to %stop up to %M step
// CHECK-NOT:     tile.loop
// CHECK:         [[START:%\d+]] = tile.load @rows_that_data_end_found[%b, %i0, {{%\d+}}] : index
// CHECK-NEXT:    [[LEAST:%\d+]] = arith.minsi %N, [[START]] : index
// CHECK-NEXT:    %seen_start = arith.maxsi [[LEAST]], {{%\d+}} : index
// CHECK-NEXT:    [[STOP:%\d+]] = tile.load @rows_that_data_end_found[%b, %i0, {{%\d+}}] : index
// CHECK-NEXT:    %seen_stop = arith.maxsi {{%\d+}}, [[STOP]] : index
// CHECK:         %t_1 = tile.loop %j0 = %start to
attn.kernel @rows_that_data_end {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %length = attn.read @length[%b] : index
  %stop = arith.minsi %length, %M : index
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %stop up to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%b, %h, %j] : f32
  %r = attn.read @row[%b, %i] : index
  %c = attn.read @key[%b, %j] : index
  %below = arith.cmpi sge, %r, %c : index
  %t = attn.max %x over %j where %below : f32
  attn.write @p[%b, %h, %i] = %t : f32
}

// CHECK:       tile.kernel @two_looks_look scheduled as @two_looks {
// CHECK:         tile.store @two_looks_found[
// CHECK:       tile.kernel @two_looks_look_1 scheduled as @two_looks {
// CHECK:         tile.store @two_looks_found_1[
// CHECK:       tile.kernel @two_looks {
// CHECK:         tile.load @two_looks_found[
// CHECK:         %t_1 = tile.loop
// CHECK:         tile.load @two_looks_found_1[
// CHECK:         %s = tile.loop
attn.kernel @two_looks {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b = attn.grid "b" to %B
  %h = attn.grid "h" to %H
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%b, %h, %j] : f32
  %r = attn.read @row[%b, %i] : index
  %c = attn.read @key[%b, %j] : index
  %same = arith.cmpi eq, %r, %c : index
  %t = attn.max %x over %j where %same : f32
  %below = arith.cmpf ogt, %t, %x : f32
  %both = arith.andi %below, %same : i1
  %s = attn.max %x over %j where %both : f32
  attn.write @u[%b, %h, %i] = %s : f32
}
