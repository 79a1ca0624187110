// RUN: attndsl opt %s --passes assign-homes

// Scores and weights share a home with those of another loop: none is needed when the next is made. It stands behind what
// threads share, so that each has its own. A product under a condition, vectors, and what has features, have none; sizes
// that are known before the programs are not computed anew. Two tiles that are needed at once live apart. A choice between
// a tile and a number is written over the tile.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @o "output" "f32" ["M", "D"]
tile.kernel @twice {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %few = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %keys = arith.maxsi %few, %D : index
  %worth = arith.cmpi sge, %M, %rows : index
  tile.threads share "i" where %worth
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %start = tile.broadcast %zero over (%i, %d) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @k[%j, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %p = math.exp %s : f32
    %t = tile.sum %p over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  %state = tile.loop %n0 = %c0 to %N step %keys iter_args(%a = %start) -> (f32) {
    %n = tile.range "n" from %n0 to %N size %keys
    %k = tile.load @k[%n, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %e = math.exp %s : f32
    %seen = arith.cmpf ogt, %s, %zero : f32
    %u = arith.select %seen, %e, %zero : f32
    %w = arith.divf %u, %sum : f32
    %t = tile.dot %w, %k over %n where %seen : f32
    %a1 = arith.addf %a, %t : f32
    tile.yield %a1 : f32
  }
  tile.store @o[%i, %d] = %state : f32
}

// CHECK-LABEL: tile.kernel @twice
// CHECK:         tile.threads share "i" where %worth
// CHECK-NEXT:    tile.home @scratch(%rows, %keys) : f32
// CHECK-NEXT:    tile.home @scratch_2(%rows, %keys) : f32
// CHECK-NOT:     tile.home
// CHECK:         %s = tile.dot
// CHECK-NEXT:    tile.into @scratch[%i, %j] = %s : f32
// CHECK-NEXT:    %p = math.exp %s : f32
// CHECK-NEXT:    tile.into @scratch[%i, %j] = %p : f32
// CHECK-NOT:     tile.into
// CHECK:         %s_1 = tile.dot
// CHECK-NEXT:    tile.into @scratch[%i, %n] = %s_1 : f32
// CHECK-NEXT:    %e = math.exp %s_1 : f32
// CHECK-NEXT:    tile.into @scratch_2[%i, %n] = %e : f32
// CHECK:         %u = arith.select
// CHECK-NEXT:    tile.into @scratch_2[%i, %n] = %u : f32
// CHECK-NEXT:    %w = arith.divf
// CHECK-NEXT:    tile.into @scratch_2[%i, %n] = %w : f32
// CHECK-NOT:     tile.into
// CHECK:         tile.store
