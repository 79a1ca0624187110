// RUN: attndsl opt %s --passes 'batch-programs{numbers=64}'

// Rows of heads that share keys are read head by head before the loop, from where the variable says: what the loop reads
// is cut as a slice of it. A bias that the loop reads from such a place is none, and its kernel stays.

spec.tensor @q "input" "f32" ["H", "D"]
spec.tensor @bias "input" "f32" ["H", "N"]
spec.tensor @k "input" "f32" ["G", "N", "D"]
spec.tensor @o "output" "f32" ["H"]
spec.tensor @p "output" "f32" ["H"]

// CHECK-LABEL: tile.kernel @before
// CHECK:      %g0 = tile.program "g" to %G step %g_step
// CHECK-NEXT: %g = tile.range "g" from %g0 to %G size %g_step
// CHECK:      tile.load @q[%head, %d]
// CHECK:      tile.load @k[%g, %j, %d]
tile.kernel @before {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %H = spec.dim "H"
  %G = spec.dim "G"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %group = arith.floordivsi %H, %G : index
  %g = tile.program "g" to %G step %one
  %i0 = tile.program "i" to %group step %size
  %i = tile.range "i" from %i0 to %group size %size
  %first = arith.muli %g, %group : index
  %head = arith.addi %first, %i : index
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%head, %d] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %k = tile.load @k[%g, %j, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %part = tile.sum %score over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%head] = %sum : f32
}

// CHECK-LABEL: tile.kernel @within
// CHECK:      %g = tile.program "g" to %G step %one
tile.kernel @within {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %H = spec.dim "H"
  %G = spec.dim "G"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %group = arith.floordivsi %H, %G : index
  %g = tile.program "g" to %G step %one
  %i0 = tile.program "i" to %group step %size
  %i = tile.range "i" from %i0 to %group size %size
  %first = arith.muli %g, %group : index
  %head = arith.addi %first, %i : index
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%head, %d] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %k = tile.load @k[%g, %j, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %bias = tile.load @bias[%head, %j] : f32
    %biased = arith.addf %score, %bias : f32
    %part = tile.sum %biased over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @p[%head] = %sum : f32
}
