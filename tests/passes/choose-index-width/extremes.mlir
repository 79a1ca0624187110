// RUN: attndsl opt %s --passes choose-index-width

// The least and the largest of numbers of keys, where none counts that is not seen: in the index width, and so what
// stands for no key. Of integers that were read it is that of 64 bits.

spec.tensor @table "input" "i32" ["N"]
spec.tensor @seen "input" "bool" ["N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @finds {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %least = arith.constant -9223372036854775808 : index
  %largest = arith.constant 9223372036854775807 : index
  %size = arith.constant 16 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = tile.program "i" to %M step %one
  %j = tile.range "j" from %zero to %N size %size
  %seen = tile.load @seen[%j] : i1
  %at = tile.load @table[%j] : index
  %first_of = arith.select %seen, %j, %largest : index
  %first = tile.min %first_of over %j : index to index
  %last_of = arith.select %seen, %j, %least : index
  %last = tile.max %last_of over %j : index to index
  %read_of = arith.select %seen, %at, %largest : index
  %read = tile.min %read_of over %j : index to index
  %some = arith.minsi %first, %last : index
  %any = arith.minsi %some, %read : index
  %v = spec.to_float %any : f32
  tile.store @o[%i] = %v : f32
}

// CHECK-LABEL: tile.kernel @finds
// CHECK:         [[MIN:%\d+]] = tile.identity of "min"
// CHECK-NEXT:    %first_of = arith.select %seen, %j, [[MIN]] : index
// CHECK:         [[MAX:%\d+]] = tile.identity of "max"
// CHECK-NEXT:    %last_of = arith.select %seen, %j, [[MAX]] : index
// CHECK:         %read_of = arith.select %seen, %at, %largest : index
// CHECK:         tile.narrow %j, %first_of, %last_of : index, index, index
