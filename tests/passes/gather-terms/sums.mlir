// RUN: attndsl opt %s --passes gather-terms

// A sum of single numbers changes where constants cancel; what is subtracted from a number stays so.
// CHECK-LABEL: tile.kernel @numbers
// CHECK: %stop = arith.addi %i0, %M : index
// CHECK: [[LEFT:%\d+]] = arith.subi %N, {{%\d+}} : index
// CHECK-NEXT: %from = arith.subi [[LEFT]], %i : index
spec.tensor @x "input" "f32" ["N"]
spec.tensor @y "input" "f32" ["M"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @numbers {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %two
  %i = tile.range "i" from %i0 to %M size %two
  %before = arith.subi %i0, %one : index
  %past = arith.addi %before, %M : index
  %stop = arith.addi %past, %one : index
  %least = arith.minsi %stop, %N : index
  %rest = arith.subi %N, %i : index
  %from = arith.subi %rest, %one : index
  %last = arith.minsi %from, %least : index
  %v = tile.load @x[%last] : f32
  tile.store @o[%i] = %v : f32
}

// What is used twice is computed once; a smaller tile is added to first.
// CHECK-LABEL: tile.kernel @parts
// CHECK: %head = arith.addi %i, %N : index
// CHECK: %end = arith.addi %head, %one : index
// CHECK: [[ROW:%\d+]] = arith.addi %N, %M : index
// CHECK-NEXT: %row = arith.addi %i, [[ROW]] : index
// CHECK: %place = arith.addi %row, %j : index
// CHECK: %back = arith.subi %place, %M : index
// CHECK: [[BOTH:%\d+]] = arith.addi %M, %N : index
// CHECK-NEXT: %less = arith.subi %j, [[BOTH]] : index
spec.tensor @w "input" "f32" ["N", "N"]
spec.tensor @p "output" "f32" ["M", "N"]
tile.kernel @parts {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %two
  %i = tile.range "i" from %i0 to %M size %two
  %j = tile.range "j" from %zero to %N size %N
  %head = arith.addi %i, %N : index
  %end = arith.addi %head, %one : index
  %lower = arith.minsi %head, %end : index
  %t = arith.addi %i, %N : index
  %row = arith.addi %t, %M : index
  %place = arith.addi %row, %j : index
  %back = arith.subi %place, %M : index
  %t1 = arith.subi %j, %M : index
  %less = arith.subi %t1, %N : index
  %some = arith.minsi %back, %less : index
  %all = arith.minsi %some, %lower : index
  %low = arith.maxsi %all, %zero : index
  %v = tile.load @w[%low, %j] : f32
  tile.store @p[%i, %j] = %v : f32
}
