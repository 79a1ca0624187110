// RUN: attndsl opt %s --passes assign-schedules

// A split has the tiles that it was counted in: the form that folds all keys names those that are cut, whatever the end
// of its own loop. What merges walks over the splits, and steps through no tiles of rows.

spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @len "input" "i32" ["B"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @part "workspace" "f32" ["M", "choice(SPLITS)"]
tile.kernel @k form "whole" {
  %zero = arith.constant 0 : index
  %rows = spec.choice "ROWS"
  %keys = spec.choice "KEYS"
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %length = tile.load @len[%zero] : index
  %some = arith.minsi %length, %N : index
  %end = arith.maxsi %some, %zero : index
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %start = tile.broadcast %low over (%i) : f32 to f32
  %t = tile.loop %j0 = %zero to %end step %keys iter_args(%m = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %end size %keys
    %x = tile.load @x[%i, %j] : f32
    %largest = tile.max %x over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}
tile.kernel @k_split form "split" {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = spec.choice "ROWS"
  %keys = spec.choice "KEYS"
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %splits = spec.choice "SPLITS" up to %N
  %i0 = tile.program "i" to %M step %rows
  %split = tile.program "split" to %splits step %one
  %i = tile.range "i" from %i0 to %M size %rows
  %above = arith.addi %N, %splits : index
  %above1 = arith.subi %above, %one : index
  %share = arith.floordivsi %above1, %splits : index
  %from = arith.muli %split, %share : index
  %next = arith.addi %from, %share : index
  %to = arith.minsi %next, %N : index
  %start = tile.broadcast %low over (%i) : f32 to f32
  %t = tile.loop %j0 = %from to %to step %keys iter_args(%m = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %to size %keys
    %x = tile.load @x[%i, %j] : f32
    %largest = tile.max %x over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @part[%i, %split] = %t : f32
}
tile.kernel @k_merge form "split" {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %keys = spec.choice "KEYS"
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %splits = spec.choice "SPLITS" up to %N
  %i = tile.program "i" to %M step %one
  %t = tile.loop %s0 = %zero to %splits step %keys iter_args(%m = %low) -> (f32) {
    %s = tile.range "s" from %s0 to %splits size %keys
    %x = tile.load @part[%i, %s] : f32
    %largest = tile.max %x over %s : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}

// CHECK-LABEL: tile.kernel @k form "whole"
// CHECK:         tile.yield
// CHECK:         %[[N:.+]] = spec.dim "N"
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.covers rows %i0 keys %[[N]] by %keys
// CHECK-LABEL: tile.kernel @k_split
// CHECK:         tile.covers rows %i0 keys %N by %keys
// CHECK-LABEL: tile.kernel @k_merge
// CHECK:         tile.covers keys %splits by %keys
