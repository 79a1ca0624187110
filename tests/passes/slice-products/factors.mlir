// RUN: attndsl opt %s --passes slice-products

// Scores read their keys along features, which they sum over: the second factor would have to be turned. Values lie
// along features, their own axis, so weights by values are made in slices, and so is what leaves keys out. A product of
// tiles that share an axis, or of a vector, has no matrices; of two products the one whose factors are computed is made
// in slices, where its second factor has the axis that is summed first.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @v "input" "f32" ["N", "D"]
spec.tensor @w "input" "f32" ["D"]
spec.tensor @o "output" "f32" ["M", "D"]
spec.tensor @r "output" "f32" ["M"]
spec.tensor @t "output" "f32" ["M", "N"]
tile.kernel @slices {
  %zero = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %zero to %D size %D
  %e = tile.range "e" from %zero to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %w = tile.load @w[%d] : f32
  %none = arith.constant 0.0 : f32
  %start = tile.broadcast %none over (%i, %e) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %rows iter_args(%acc = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %rows
    %seen = arith.cmpi sle, %j, %i : index
    %k = tile.load @k[%j, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %weight = math.exp %score : f32
    %shown = arith.select %seen, %weight, %none : f32
    %v = tile.load @v[%j, %e] : f32
    %part = tile.dot %weight, %v over %j : f32
    %absent = tile.dot %shown, %v over %j where %seen : f32
    %both = arith.addf %part, %absent : f32
    %next = arith.addf %acc, %both : f32
    tile.yield %next : f32
  }
  %whole = tile.range "j" from %zero to %N size %N
  %keys = tile.load @k[%whole, %d] : f32
  %near = math.tanh %keys : f32
  %product = tile.dot %q, %near over %d : f32
  %batch = tile.dot %q, %q over %d : f32
  %vector = tile.dot %q, %w over %d : f32
  %two = arith.addf %batch, %vector : f32
  tile.store @o[%i, %e] = %sum : f32
  tile.store @r[%i] = %two : f32
  tile.store @t[%i, %whole] = %product : f32
}

// CHECK:      %score = tile.dot %q, %k over %d : f32
// CHECK:      %part = tile.dot %weight, %v over %j in slices of 8 : f32
// CHECK-NEXT: %absent = tile.dot %shown, %v over %j where %seen in slices of 8 : f32
// CHECK:      %product = tile.dot %q, %near over %d in slices of 8 : f32
// CHECK-NEXT: %batch = tile.dot %q, %q over %d : f32
// CHECK-NEXT: %vector = tile.dot %q, %w over %d : f32
