// RUN: attndsl opt %s --passes approximate-functions

// Of what a product of 16-bit numbers went into; neither of f32 numbers' products, nor of what memory holds, nor another.
// CHECK-LABEL: tile.kernel @k
// CHECK: %capped = math.tanh %scaled fastmath<afn> : f32
// CHECK: %again = math.tanh %larger fastmath<afn> : f32
// CHECK: %exact = math.tanh %wide : f32
// CHECK: %held = math.tanh %b : f32
// CHECK: %power = math.exp2 %capped : f32
spec.tensor @q "input" "bf16" ["M", "16"]
spec.tensor @k "input" "bf16" ["N", "16"]
spec.tensor @u "input" "f32" ["N", "16"]
spec.tensor @b "input" "bf16" ["M", "N"]
spec.tensor @o "output" "f32" ["M", "N"]
tile.kernel @k {
  %zero = arith.constant 0 : index
  %size = arith.constant 16 : index
  %none = arith.constant 0.0 : f32
  %scale = arith.constant 0.02 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %size
  %j0 = tile.program "j" to %N step %size
  %i_end = arith.addi %i0, %size : index
  %j_end = arith.addi %j0, %size : index
  %i = tile.range "i" from %i0 to %i_end size %size
  %j = tile.range "j" from %j0 to %j_end size %size
  %d = tile.range "d" from %zero to %size size %size
  %i_in = arith.cmpi slt, %i, %M : index
  %j_in = arith.cmpi slt, %j, %N : index
  %both = arith.andi %i_in, %j_in : i1
  %q = tile.load @q[%i, %d] where %i_in : f32
  %k = tile.load @k[%j, %d] where %j_in : f32
  %u = tile.load @u[%j, %d] where %j_in : f32
  %b = tile.load @b[%i, %j] where %both : f32
  %s = tile.dot %q, %k over %d rounded to "bf16" : f32
  %scaled = arith.mulf %s, %scale : f32
  %capped = math.tanh %scaled : f32
  %positive = arith.cmpf ogt, %capped, %none : f32
  %larger = arith.select %positive, %capped, %b : f32
  %again = math.tanh %larger : f32
  %wide = tile.dot %q, %u over %d rounded to "tf32x3" : f32
  %exact = math.tanh %wide : f32
  %held = math.tanh %b : f32
  %power = math.exp2 %capped : f32
  %some = arith.addf %again, %exact : f32
  %more = arith.addf %held, %power : f32
  %all = arith.addf %some, %more : f32
  tile.store @o[%i, %j] = %all where %both : f32
}
