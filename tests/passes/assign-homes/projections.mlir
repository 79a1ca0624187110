// RUN: attndsl opt %s --passes assign-homes

// Rows that lie last are turned once for all products of a kernel that walks no keys; its matrices are left as they lie.
// CHECK: tile.home @scratch(%R, %rows) : f32
// CHECK: %x = tile.load @x[%i, %r] : f32
// CHECK-NEXT: tile.into @scratch[%r, %i] = %x : f32
// CHECK-NOT: tile.into

spec.tensor @x "input" "f32" ["M", "R"]
spec.tensor @w "input" "f32" ["D", "R"]
spec.tensor @u "input" "f32" ["D", "R"]
spec.tensor @o "output" "f32" ["M", "D"]
spec.tensor @p "output" "f32" ["M", "D"]
tile.kernel @linear rows last {
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
  %u = tile.load @u[%d, %r] : f32
  %t2 = tile.dot %x, %u over %r : f32
  tile.store @p[%i, %d] = %t2 : f32
}
