// RUN: attndsl opt %s --passes fuse-pointwise{numbers=64}

// Rows lie last. A mask, a shift, an exponential, its sums and a factor of each key are one pass over a tile; what takes
// the sums follows it, and what is said of what is fused is left out. The product needs the tile: it ends the chain. A
// maximum is no part of one, nor is a hyperbolic tangent, which is a tile of its own. What a state becomes is one pass
// too, over features and rows.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @v "input" "f32" ["N", "D"]
spec.tensor @scale "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["D", "M"]
spec.tensor @r "output" "f32" ["M"]
tile.kernel @chains rows last {
  %zero = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %none = arith.constant 0.0 : f32
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  tile.home @scratch(%rows, %rows) : f32
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %zero to %D size %D
  %e = tile.range "e" from %zero to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %l0 = tile.broadcast %none over (%i) : f32 to f32
  %s0 = tile.broadcast %none over (%e, %i) : f32 to f32
  %l, %s = tile.loop %j0 = %zero to %N step %rows iter_args(%l1 = %l0, %s1 = %s0) -> (f32, f32) {
    %j = tile.range "j" from %j0 to %N size %rows
    %k = tile.load @k[%j, %d] : f32
    %v = tile.load @v[%j, %e] : f32
    %score = tile.dot %q, %k over %d : f32
    tile.into @scratch[%j, %i] = %score : f32
    %soft = math.tanh %score : f32
    tile.into @scratch[%j, %i] = %soft : f32
    %seen = arith.cmpi sle, %j, %i : index
    tile.present %seen
    %shown = arith.select %seen, %soft, %low : f32
    tile.into @scratch[%j, %i] = %shown : f32
    %m = tile.max %shown over %j : f32 to f32
    %shift = arith.subf %shown, %m : f32
    tile.into @scratch[%j, %i] = %shift : f32
    %p = math.exp %shift : f32
    tile.into @scratch[%j, %i] = %p : f32
    tile.within %p from 0.0 to 1.0 : f32
    %t = tile.sum %p over %j : f32 to f32
    %l2 = arith.addf %l1, %t : f32
    %scale = tile.load @scale[%j] : f32
    %w = arith.mulf %p, %scale : f32
    tile.into @scratch[%j, %i] = %w : f32
    %part = tile.dot %w, %v over %j : f32
    %half = arith.negf %part : f32
    %s2 = arith.addf %s1, %half : f32
    tile.yield %l2, %s2 : f32, f32
  }
  tile.store @o[%e, %i] = %s : f32
  tile.store @r[%i] = %l : f32
}

// CHECK:      %large = arith.cmpi sge
// CHECK:      tile.loop
// CHECK:      %soft = math.tanh %score
// CHECK-NEXT: tile.into
// CHECK-NEXT: %shown = tile.fused where %large -> (f32) {
// CHECK-NEXT:   %seen = arith.cmpi sle, %j, %i : index
// CHECK-NEXT:   [[SHOWN:%\w+]] = arith.select %seen, %soft, %low : f32
// CHECK-NEXT:   tile.into @scratch[%j, %i] = [[SHOWN]] : f32
// CHECK-NEXT:   tile.yield [[SHOWN]] : f32
// CHECK-NEXT: }
// CHECK-NEXT: %m = tile.max %shown over %j
// CHECK-NEXT: %scale = tile.load @scale[%j] : f32
// CHECK-NEXT: [[T:%\w+]], [[W:%\w+]] = tile.fused where %large -> (f32, f32) {
// CHECK:        math.exp
// CHECK:        tile.sum
// CHECK-NEXT:   arith.mulf
// CHECK-NEXT:   tile.into
// CHECK-NEXT:   tile.yield
// CHECK-NEXT: }
// CHECK-NEXT: arith.addf %l1, [[T]]
// CHECK-NEXT: %part = tile.dot [[W]], %v over %j
// CHECK-NEXT: %s2 = tile.fused where %large_1 -> (f32) {
// CHECK-NEXT:   [[HALF:%\w+]] = arith.negf %part : f32
// CHECK-NEXT:   [[S2:%\w+]] = arith.addf %s1, [[HALF]] : f32
// CHECK-NEXT:   tile.yield [[S2]] : f32
// CHECK-NEXT: }
// CHECK-NEXT: tile.yield {{%\w+}}, %s2
