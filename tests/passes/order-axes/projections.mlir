// RUN: attndsl opt %s --passes order-axes{sliced=true}

// The matrix of @linear lies along what is summed, as its rows do: slices of it are as they lie. That of @turned lies
// along what the product gives, and slices of the rows are. Without `sliced` neither has rows last (order.mlir).
// CHECK-LABEL: tile.kernel @linear rows last {
// CHECK-LABEL: tile.kernel @turned {

spec.tensor @x "input" "f32" ["M", "R"]
spec.tensor @w "input" "f32" ["D", "R"]
spec.tensor @u "input" "f32" ["R", "D"]
spec.tensor @o "output" "f32" ["M", "D"]
tile.kernel @linear {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %M = spec.dim "M"
  %D = spec.dim "D"
  %R = spec.dim "R"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %r = tile.range "r" from %c0 to %R size %R
  %x = tile.load @x[%i, %r] : f32
  %w = tile.load @w[%d, %r] : f32
  %t = tile.dot %x, %w over %r : f32
  tile.store @o[%i, %d] = %t : f32
}
tile.kernel @turned {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %M = spec.dim "M"
  %D = spec.dim "D"
  %R = spec.dim "R"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %r = tile.range "r" from %c0 to %R size %R
  %x = tile.load @x[%i, %r] : f32
  %u = tile.load @u[%r, %d] : f32
  %t = tile.dot %x, %u over %r : f32
  tile.store @o[%i, %d] = %t : f32
}
