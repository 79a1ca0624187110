// RUN: attndsl opt %s --passes 'batch-programs{numbers=48}'

// Tiles of rows by columns have batch axes too: as many as the largest of them leaves room for.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @k "input" "f32" ["H", "N", "D"]
spec.tensor @p "output" "f32" ["H", "M", "N"]
tile.kernel @products {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %size = arith.constant 4 : index
  %some = arith.constant 3 : index
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %h = tile.program "h" to %H step %one
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %j0 = tile.program columns "j" to %N step %some
  %j = tile.range "j" from %j0 to %N size %some
  %k = tile.load @k[%h, %j, %d] : f32
  %s = tile.dot %q, %k over %d : f32
  tile.store @p[%h, %i, %j] = %s : f32
}

// CHECK:       %h_step = arith.maxsi
// CHECK-NEXT:  %h0 = tile.program "h" to %H step %h_step
// CHECK-NEXT:  %h = tile.range "h" from %h0 to %H size %h_step
// CHECK:       %j0 = tile.program columns "j" to %N step %some
// CHECK:       tile.store @p[%h, %i, %j] = %s : f32
