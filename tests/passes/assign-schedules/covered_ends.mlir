// RUN: attndsl opt %s --passes assign-schedules

// The keys of `scanned` end where a first look at them does, since no launch knows where the second loop ends; they are
// counted in tiles of the loop that folds them. The full tiles of `causal` end where the size of a tile says, and its
// others where the row does: no launch knows how many keys it has. A loop over features, as that of `contracts`, has no
// tiles of keys; a kernel that has no other counts its turns.

spec.tensor @x "input" "f32" ["N"]
spec.tensor @w "input" "f32" ["D"]
spec.tensor @len "input" "i32" ["B"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @p "output" "f32" ["M"]
spec.tensor @q "output" "f32" ["M"]
tile.kernel @scanned {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %chunk = arith.constant 2048 : index
  %keys = arith.constant 16 : index
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = tile.program "i" to %M step %one
  %length = tile.load @len[%zero] : index
  %first = tile.loop %j0 = %zero to %N step %chunk iter_args(%a = %zero) -> (index) {
    %j = tile.range "j" from %j0 to %N size %chunk
    %most = tile.max %j over %j : index to index
    %b = arith.maxsi %a, %most : index
    tile.yield %b : index
  }
  %some = arith.minsi %first, %length : index
  %t = tile.loop %j0 = %zero to %some step %keys iter_args(%m = %low) -> (f32) {
    %j = tile.range "j" from %j0 to %some size %keys
    %x = tile.load @x[%j] : f32
    %largest = tile.max %x over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}
tile.kernel @causal {
  %zero = arith.constant 0 : index
  %rows = spec.choice "ROWS"
  %keys = spec.choice "KEYS"
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %tiles = arith.floordivsi %N, %keys : index
  %covered = arith.muli %tiles, %keys : index
  %stop = arith.minsi %i0, %N : index
  %start = tile.broadcast %low over (%i) : f32 to f32
  %t0 = tile.loop full %j0 = %zero to %covered step %keys iter_args(%m = %start) -> (f32) {
    %end = arith.addi %j0, %keys : index
    %j = tile.range "j" from %j0 to %end size %keys
    %x = tile.load @x[%j] : f32
    %largest = tile.max %x over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  %t = tile.loop mixed %j0 = %zero to %stop step %keys iter_args(%m = %t0) -> (f32) {
    %j = tile.range "j" from %j0 to %stop size %keys
    %x = tile.load @x[%j] : f32
    %largest = tile.max %x over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @p[%i] = %t : f32
}
tile.kernel @contracts {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %D = spec.dim "D"
  %i = tile.program "i" to %M step %one
  %t = tile.loop %d = %zero to %D step %one iter_args(%a = %none) -> (f32) {
    %w = tile.load @w[%d] : f32
    %b = arith.addf %a, %w : f32
    tile.yield %b : f32
  }
  tile.store @q[%i] = %t : f32
}

// CHECK-LABEL: tile.kernel @scanned
// CHECK:         tile.covers keys %N by %keys
// CHECK-LABEL: tile.kernel @causal
// CHECK:         tile.covers rows %i0
// CHECK-NEXT:  }
// CHECK-LABEL: tile.kernel @contracts
// CHECK:         tile.covers keys %D by %one
