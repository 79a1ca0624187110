// RUN: attndsl opt %s --passes specialise-strides

// A loop that walks the last axis tile by tile walks features where it ends at a number, or at a dim of which another
// kernel has a whole axis; else keys.

spec.tensor @x "input" "f32" ["M", "D"]
spec.tensor @y "input" "f32" ["M", "64"]
spec.tensor @z "input" "f32" ["M", "N"]
spec.tensor @w "input" "f32" ["N", "D"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @p "output" "f32" ["N"]
// CHECK-LABEL: tile.kernel @walks strided [@x, @y] {
tile.kernel @walks {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %most = arith.constant 64 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 16 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = tile.program "i" to %M step %one
  %a = tile.loop %d0 = %zero to %D step %size iter_args(%s = %none) -> (f32) {
    %d = tile.range "d" from %d0 to %D size %size
    %x = tile.load @x[%i, %d] : f32
    %t = tile.sum %x over %d : f32 to f32
    %u = arith.addf %s, %t : f32
    tile.yield %u : f32
  }
  %b = tile.loop %e0 = %zero to %most step %size iter_args(%s = %a) -> (f32) {
    %e = tile.range "e" from %e0 to %most size %size
    %y = tile.load @y[%i, %e] : f32
    %t = tile.sum %y over %e : f32 to f32
    %u = arith.addf %s, %t : f32
    tile.yield %u : f32
  }
  %c = tile.loop %j0 = %zero to %N step %size iter_args(%s = %b) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %z = tile.load @z[%i, %j] : f32
    %t = tile.sum %z over %j : f32 to f32
    %u = arith.addf %s, %t : f32
    tile.yield %u : f32
  }
  tile.store @o[%i] = %c : f32
}
// CHECK-LABEL: tile.kernel @has_all strided [@w] {
tile.kernel @has_all {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %N = spec.dim "N"
  %D = spec.dim "D"
  %padded = tile.padded %D
  %j = tile.program "j" to %N step %one
  %d = tile.range "d" from %zero to %padded size %padded
  %in = arith.cmpi slt, %d, %D : index
  %w = tile.load @w[%j, %d] where %in : f32
  %t = tile.sum %w over %d : f32 to f32
  tile.store @p[%j] = %t : f32
}
