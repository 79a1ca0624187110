// RUN: attndsl opt %s --passes fuse-pointwise{numbers=64}

// Between two operations of a chain stand a product that takes the first, and an exponential of its sums: they follow
// the chain, and what is said of the exponential follows that.

spec.tensor @x "input" "f32" ["M", "D"]
spec.tensor @y "input" "f32" ["N", "D"]
spec.tensor @z "input" "f32" ["N", "D"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @said {
  %zero = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %c1 = arith.constant 1 : index
  %i = tile.program "i" to %M step %c1
  %d = tile.range "d" from %zero to %D size %D
  %x = tile.load @x[%i, %d] : f32
  %ones = tile.broadcast %one over (%d) : f32 to f32
  %none = arith.constant 0.0 : f32
  %l = tile.loop %j0 = %zero to %N step %rows iter_args(%l1 = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %rows
    %y = tile.load @y[%j, %d] : f32
    %z = tile.load @z[%j, %d] : f32
    %first = arith.mulf %x, %y : f32
    %s = tile.dot %first, %ones over %d : f32
    %w = math.exp %s : f32
    tile.within %w from 0.0 to 1.0e38 : f32
    %second = arith.mulf %x, %z : f32
    %t = tile.dot %second, %ones over %d : f32
    %u = arith.mulf %w, %t : f32
    %v = tile.sum %u over %j : f32 to f32
    %l2 = arith.addf %l1, %v : f32
    tile.yield %l2 : f32
  }
  tile.store @o[%i] = %l : f32
}

// CHECK:      tile.fused where %large
// CHECK-NEXT: %first
// CHECK-NEXT: %second
// CHECK:      tile.dot
// CHECK-NEXT: %w = math.exp
// CHECK-NEXT: tile.within %w
