// RUN: attndsl opt %s --passes hoist-quotients,find-ranges

// What is read as 32 bits, and what a parameter is taken from, may be negative; a page, an index variable and an axis
// are not. A number shows its sign, and a launch divides by itself.

spec.tensor @x "input" "f32" ["N"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["M"]
spec.parameter @window index = 3 : index
tile.kernel @read {
  %zero = arith.constant 0 : index
  %size = arith.constant 16 : index
  %page = arith.constant 4 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %window = spec.param "window" : index
  %rows = arith.subi %M, %window : index
  %i0 = tile.program "i" to %rows step %size
  %i_end = arith.addi %i0, %size : index
  %i = tile.range "i" from %i0 to %i_end size %size
  %i_in = arith.cmpi slt, %i, %M : index
  %first = arith.subi %i, %window : index
  %behind = arith.floordivsi %first, %page : index
  %at = arith.floordivsi %i, %page : index
  %half = arith.floordivsi %N, %page : index
  %n_in = arith.cmpi slt, %at, %half : index
  %in = arith.andi %i_in, %n_in : i1
  %found = tile.load @table[%at] where %in : index
  %slot = spec.mod %found, %N
  %near = arith.maxsi %behind, %zero : index
  %sum = arith.addi %slot, %near : index
  %sum_in = arith.cmpi slt, %sum, %N : index
  %all_in = arith.andi %in, %sum_in : i1
  %x = tile.load @x[%sum] where %all_in : f32
  tile.store @o[%i] = %x where %i_in : f32
}

// CHECK:      tile.store
// CHECK-NEXT: tile.launched %half : index
// CHECK-NEXT: tile.unsigned %i, %N : index, index
// CHECK-NEXT: }
