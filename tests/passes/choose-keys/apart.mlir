// RUN: attndsl opt %s --passes 'choose-keys{least=4 most=32 products=256 apart=4}'

// Keys that a table places are copied: a tile has a quarter of those that it has where keys are a slice, be it shifted.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["M"]
// CHECK-LABEL: tile.kernel @slice
// CHECK-NEXT:    %keys = arith.constant 32 : index
tile.kernel @slice {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0.0 : f32
  %N = spec.dim "N"
  %D = spec.dim "D"
  %d = tile.range "d" from %c0 to %D size %c8
  %q = tile.load @q[%c0, %d] : f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %zero) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %next = arith.addi %j, %c0 : index
    %k = tile.load @k[%next, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%c0] = %sum : f32
}

// CHECK-LABEL: tile.kernel @copy
// CHECK-NEXT:    %keys = arith.constant 8 : index
tile.kernel @copy {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0.0 : f32
  %N = spec.dim "N"
  %D = spec.dim "D"
  %d = tile.range "d" from %c0 to %D size %c8
  %q = tile.load @q[%c0, %d] : f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %zero) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %place = tile.load @table[%j] : index
    %from = arith.cmpi sle, %c0, %place : index
    %upto = arith.cmpi slt, %place, %N : index
    %there = arith.andi %from, %upto : i1
    %k = tile.load @k[%place, %d] where %there : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%c0] = %sum : f32
}
