// RUN: attndsl opt %s --passes assign-homes

// Where products have batch axes a home is no larger than a call's tiles are. A choice between two tiles has none, nor has
// one of a tile that is read afterwards.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @k "input" "f32" ["H", "N", "D"]
spec.tensor @o "output" "f32" ["H", "M"]
tile.kernel @heads {
  %c0 = arith.constant 0 : index
  %some = arith.constant 3 : index
  %rows = arith.constant 4 : index
  %keys = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %step = arith.maxsi %D, %some : index
  %h0 = tile.program "h" to %H step %step
  %h = tile.range "h" from %h0 to %H size %step
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %none = tile.broadcast %zero over (%h, %i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @k[%h, %j, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %seen = arith.cmpi sge, %i, %j : index
    %u = arith.select %seen, %s, %zero : f32
    %p = math.exp %u : f32
    %v = arith.select %seen, %p, %zero : f32
    %w = arith.select %seen, %v, %p : f32
    %t = tile.sum %w over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%h, %i] = %sum : f32
}

// CHECK:       %h_size = arith.minsi %H, %step : index
// CHECK-NEXT:  %i_size = arith.minsi %M, %rows : index
// CHECK-NEXT:  %j_size = arith.minsi %N, %keys : index
// CHECK-NEXT:  tile.home @scratch(%h_size, %i_size, %j_size) : f32
// CHECK-NEXT:  tile.program
// CHECK:       %u = arith.select
// CHECK-NEXT:  tile.into @scratch[%h, %i, %j] = %u : f32
// CHECK-NEXT:  %p = math.exp %u : f32
// CHECK-NEXT:  tile.into @scratch[%h, %i, %j] = %p : f32
// CHECK-NEXT:  %v = arith.select
// CHECK-NEXT:  %w = arith.select
// CHECK-NEXT:  %t = tile.sum
