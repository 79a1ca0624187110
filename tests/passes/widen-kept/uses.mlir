// RUN: attndsl opt %s --passes keep-stored,widen-kept

// A product of f16 and a comparison with 0 take the tile as it is, and so does a select that leaves some of it. One with
// 0.1, which f16 does not hold, a sum, and a product of f32 take it widened; a tile that is not kept is wide already.

spec.tensor @x "input" "f16" ["N", "N"]
spec.tensor @y "input" "f16" ["N", "N"]
spec.tensor @o "output" "f32" ["N", "N"]
tile.kernel @uses {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %tenth = arith.constant 0.1 : f32
  %size = arith.constant 16 : index
  %N = spec.dim "N"
  %m0 = tile.program "m" to %N step %size
  %m = tile.range "m" from %m0 to %N size %size
  %d = tile.range "d" from %zero to %N size %N
  %e = tile.range "e" from %zero to %N size %N
  %x = tile.load @x[%m, %d] : f32
  %y = tile.load @y[%d, %e] : f32
  %positive = arith.cmpf ogt, %x, %none : f32
  %above = arith.cmpf ogt, %x, %tenth : f32
  %left = arith.select %positive, %x, %none : f32
  %dot = tile.dot %left, %y over %d rounded to "f16" : f32
  %wide = tile.dot %x, %y over %d : f32
  %counts = arith.select %above, %x, %tenth : f32
  %sum = tile.sum %counts over %d : f32 to f32
  %both = arith.addf %dot, %sum : f32
  %all = arith.addf %both, %wide : f32
  tile.store @o[%m, %e] = %all : f32
}

// CHECK-LABEL: tile.kernel @uses {
// CHECK:         %x = tile.load @x
// CHECK-NEXT:    %0 = tile.widened %x : f32
// CHECK-NEXT:    %y = tile.load @y
// CHECK-NEXT:    %1 = tile.widened %y : f32
// CHECK-NEXT:    %positive = arith.cmpf ogt, %x, %none
// CHECK-NEXT:    %above = arith.cmpf ogt, %0, %tenth
// CHECK-NEXT:    %left = arith.select %positive, %x, %none
// CHECK-NEXT:    tile.dot %left, %y over %d rounded to "f16"
// CHECK-NEXT:    tile.dot %0, %1 over %d :
// CHECK-NEXT:    arith.select %above, %0, %tenth
