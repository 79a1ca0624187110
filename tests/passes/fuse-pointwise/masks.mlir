// RUN: attndsl opt %s --passes fuse-pointwise{numbers=64}

// Of a tile a part is masked in one pass over that part, with what is computed for its condition alone: what something
// else asks for, too, is computed before. Batches count: a tile of two rows has numbers enough with others beside it.

spec.tensor @x "input" "f32" ["B", "M", "N"]
spec.tensor @o "output" "f32" ["B", "M"]
tile.kernel @masks rows last {
  %zero = arith.constant 0 : index
  %rows = arith.constant 2 : index
  %keys = arith.constant 8 : index
  %none = arith.constant 0.0 : f32
  %low = arith.constant 0xff800000 : f32
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %b0 = tile.program "b" to %B step %keys
  %i0 = tile.program "i" to %M step %rows
  %b = tile.range "b" from %b0 to %B size %keys
  %i = tile.range "i" from %i0 to %M size %rows
  %m0 = tile.broadcast %none over (%b, %i) : f32 to f32
  %m = tile.loop %j0 = %zero to %N step %keys iter_args(%m1 = %m0) -> (f32) {
    %next = arith.addi %j0, %keys : index
    %end = arith.minsi %next, %N : index
    %mixed = arith.cmpi sgt, %end, %i0 : index
    %j = tile.range "j" from %j0 to %end size %keys
    %x = tile.load @x[%b, %i, %j] : f32
    %half = math.tanh %x : f32
    %s = scf.if %mixed -> (f32) {
      %from = arith.maxsi %j0, %i0 : index
      %length = arith.subi %end, %from : index
      %edge = tile.range "j" from %from to %end size %length
      %later = arith.addi %edge, %from : index
      %last = tile.max %later over %edge : index to index
      %hidden = arith.cmpi sle, %i, %later : index
      %odd = arith.cmpi ne, %edge, %last : index
      %both = arith.andi %hidden, %odd : i1
      %masked = tile.mask %half along %j with %low where %both over %edge : f32
      scf.yield %masked : f32
    } else {
      scf.yield %half : f32
    }
    %t = tile.max %s over %j : f32 to f32
    %m2 = arith.maximumf %m1, %t : f32
    tile.yield %m2 : f32
  }
  tile.store @o[%b, %i] = %m : f32
}

// CHECK:      %large = arith.cmpi sge
// CHECK:      %last = tile.max %later
// CHECK:      %masked = tile.fused where %large -> (f32) {
// CHECK-NEXT:   %hidden = arith.cmpi sle, %i, %later : index
// CHECK-NEXT:   %odd = arith.cmpi ne, %edge, %last : index
// CHECK-NEXT:   %both = arith.andi %hidden, %odd : i1
// CHECK-NEXT:   [[MASKED:%\w+]] = tile.mask %half along %j with %low where %both over %edge : f32
// CHECK-NEXT:   tile.yield [[MASKED]] : f32
// CHECK-NEXT: }
