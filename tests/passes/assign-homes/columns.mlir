// RUN: attndsl opt %s --passes assign-homes

// Tiles of rows by columns have homes, as their sizes are bounded.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @p "output" "f32" ["M", "N"]
tile.kernel @products {
  %zero = arith.constant 0 : index
  %rows = arith.constant 4 : index
  %columns = arith.constant 3 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %j0 = tile.program columns "j" to %N step %columns
  %j = tile.range "j" from %j0 to %N size %columns
  %k = tile.load @k[%j, %d] : f32
  %s = tile.dot %q, %k over %d : f32
  %e = math.exp %s : f32
  tile.store @p[%i, %j] = %e : f32
}

// CHECK:       tile.home @scratch(%rows, %columns) : f32
// CHECK-NEXT:  tile.program
// CHECK:       %s = tile.dot
// CHECK-NEXT:  tile.into @scratch[%i, %j] = %s : f32
// CHECK-NEXT:  %e = math.exp %s : f32
// CHECK-NEXT:  tile.into @scratch[%i, %j] = %e : f32
