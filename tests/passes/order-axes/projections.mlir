// RUN: attndsl opt %s --passes order-axes{sliced=true}

// The matrices of @linear lie along what is summed, as its rows do: slices of them are as they lie, and the rows are turned
// for both. In @once they would be turned for one alone, in @residual another tile of rows and features lies otherwise, and
// in @turned slices of the rows are as they lie. Without `sliced` none has rows last (order.mlir).
// CHECK-LABEL: tile.kernel @linear rows last {
// CHECK-LABEL: tile.kernel @once {
// CHECK-LABEL: tile.kernel @residual {
// CHECK-LABEL: tile.kernel @turned {

spec.tensor @x "input" "f32" ["M", "R"]
spec.tensor @w "input" "f32" ["D", "R"]
spec.tensor @v "input" "f32" ["D", "R"]
spec.tensor @u "input" "f32" ["R", "D"]
spec.tensor @y "input" "f32" ["M", "D"]
spec.tensor @o "output" "f32" ["M", "D"]
spec.tensor @p "output" "f32" ["M", "D"]
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
  %v = tile.load @v[%d, %r] : f32
  %t2 = tile.dot %x, %v over %r : f32
  tile.store @p[%i, %d] = %t2 : f32
}
tile.kernel @once {
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
tile.kernel @residual {
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
  %y = tile.load @y[%i, %d] : f32
  %z = arith.addf %t, %y : f32
  tile.store @o[%i, %d] = %z : f32
  %v = tile.load @v[%d, %r] : f32
  %t2 = tile.dot %x, %v over %r : f32
  tile.store @p[%i, %d] = %t2 : f32
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
  %v = tile.load @v[%d, %r] : f32
  %t2 = tile.dot %x, %v over %r : f32
  tile.store @p[%i, %d] = %t2 : f32
}
