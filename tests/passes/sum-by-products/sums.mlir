// RUN: attndsl opt %s --passes sum-by-products

// A sum along an axis of a matrix is a product with as many ones. A sum of a vector, or in f64, stays.
// CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %[[ONES:.*]] = tile.broadcast %[[ONE]] over(%j) : f32 to f32
// CHECK-NEXT: tile.dot %p, %[[ONES]] over %j : f32
// CHECK: tile.sum %w over %j : f32
// CHECK: tile.sum %wide over %j : f64
spec.tensor @p "input" "f32" ["M", "N"]
spec.tensor @w "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @u "output" "f64" ["M"]
tile.kernel @k {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %j = tile.range "j" from %c0 to %N size %N
  %p = tile.load @p[%i, %j] : f32
  %w = tile.load @w[%j] : f32
  %a = tile.sum %p over %j : f32 to f32
  %b = tile.sum %w over %j : f32 to f32
  %wide = arith.extf %p : f32 to f64
  %c = tile.sum %wide over %j : f64 to f64
  %ab = arith.addf %a, %b : f32
  tile.store @o[%i] = %ab : f32
  tile.store @u[%i] = %c : f64
}
