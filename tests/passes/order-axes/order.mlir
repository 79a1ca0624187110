// RUN: attndsl opt %s --passes order-axes

// Products of rows by keys put rows last. A bias of each pair, in which keys lie side by side, keeps them first; one that
// is looked up by a number of each pair lies in any order. What has no keys has nothing to put in order.
// CHECK-LABEL: tile.kernel @scores rows last {
// CHECK-LABEL: tile.kernel @biased {
// CHECK-LABEL: tile.kernel @looked_up rows last {
// CHECK-LABEL: tile.kernel @features {

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @bias "input" "f32" ["M", "N"]
spec.tensor @table "input" "f32" ["M + N"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @u "output" "f32" ["M", "N"]
tile.kernel @scores {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %keys = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @k[%j, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}
tile.kernel @biased {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %keys = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @k[%j, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %bias = tile.load @bias[%i, %j] : f32
    %b = arith.addf %s, %bias : f32
    %t = tile.sum %b over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}
tile.kernel @looked_up {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %keys = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @k[%j, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %far = arith.addi %i, %j : index
    %bias = tile.load @table[%far] : f32
    %b = arith.addf %s, %bias : f32
    %t = tile.sum %b over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}
tile.kernel @features {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %n = tile.range "n" from %c0 to %N size %N
  %q = tile.load @q[%i, %d] : f32
  %k = tile.load @k[%n, %d] : f32
  %s = tile.dot %q, %k over %d : f32
  tile.store @u[%i, %n] = %s : f32
}
