// RUN: attndsl opt %s --passes assign-threads{least=1}

// Programs of different heads add to one element: they are stepped through within the keys that threads share, with what
// is computed of them. Where no subscript tells programs apart, threads share none.

spec.tensor @x "input" "f32" ["H", "N"]
spec.tensor @o "output" "f32" ["H", "N"] partial
spec.tensor @p "output" "f32" ["H"] partial
tile.kernel @heads {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %H = spec.dim "H"
  %N = spec.dim "N"
  %h = tile.program "h" to %H step %c1
  %g = arith.floordivsi %h, %c2 : index
  %j0 = tile.program "j" to %N step %c64
  %j = tile.range "j" from %j0 to %N size %c64
  %x = tile.load @x[%h, %j] : f32
  tile.store @o[%g, %j] = %x adds along (%h) : f32
}
tile.kernel @pairs {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %H = spec.dim "H"
  %h = tile.program "h" to %H step %c1
  %g = arith.floordivsi %h, %c2 : index
  %x = tile.load @x[%h, %c0] : f32
  tile.store @p[%g] = %x adds along (%h) : f32
}

// CHECK-LABEL: tile.kernel @heads
// CHECK:         tile.threads share "j" where %worth
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c64_1 = arith.constant 64 : index
// CHECK-NEXT:    %H_1 = spec.dim "H"
// CHECK-NEXT:    %N_1 = spec.dim "N"
// CHECK-NEXT:    %j0 = tile.program "j" to %N_1 step %c64_1
// CHECK-NEXT:    %h = tile.program "h" to %H_1 step %c1
// CHECK-NEXT:    %g = arith.floordivsi %h, %c2 : index
// CHECK-NEXT:    %j = tile.range "j" from %j0 to %N_1 size %c64_1
// CHECK-LABEL: tile.kernel @pairs
// CHECK-NOT:     tile.threads
