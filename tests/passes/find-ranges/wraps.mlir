// RUN: attndsl opt %s --passes find-ranges

// A parameter may be large, and its square leave 64 bits; its sum with a dim does not, nor does what brings it near.

spec.tensor @x "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]
spec.parameter @a index = 3 : index
tile.kernel @multiplies {
  %one = arith.constant 1 : index
  %zero = arith.constant 0 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %a = spec.param "a" : index
  %square = arith.muli %a, %a : index
  %sum = arith.addi %a, %N : index
  %least = arith.minsi %square, %sum : index
  %most = arith.minsi %least, %M : index
  %low = arith.maxsi %most, %zero : index
  %i = tile.program "i" to %low up to %M step %one
  %in = arith.cmpi slt, %i, %N : index
  %x = tile.load @x[%i] where %in : f32
  tile.store @o[%i] = %x : f32
}

// CHECK:      tile.store
// CHECK-NEXT: tile.unsigned %M : index
// CHECK-NEXT: tile.wraps %square : index
// CHECK-NEXT: }
