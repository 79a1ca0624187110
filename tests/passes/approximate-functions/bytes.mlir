// RUN: attndsl opt %s --passes approximate-functions

// Numbers of 8 bits are multiplied as bf16, which no tensor of the spec is: nothing else of it has an error of 16 bits.
// CHECK-LABEL: tile.kernel @k
// CHECK: %capped = math.tanh %s : f32
// CHECK: %chosen = math.tanh %b : f32
spec.tensor @q "input" "f8e4m3" ["M", "16"]
spec.tensor @k "input" "f8e4m3" ["N", "16"]
spec.tensor @u "input" "f32" ["M", "N"]
spec.tensor @o "output" "f32" ["M", "N"]
tile.kernel @k {
  %zero = arith.constant 0 : index
  %size = arith.constant 16 : index
  %none = arith.constant 0.0 : f32
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
  %u = tile.load @u[%i, %j] where %both : f32
  %s = tile.dot %q, %k over %d rounded to "bf16" : f32
  %capped = math.tanh %s : f32
  %positive = arith.cmpf ogt, %s, %none : f32
  %b = arith.select %positive, %u, %none : f32
  %chosen = math.tanh %b : f32
  %all = arith.addf %capped, %chosen : f32
  tile.store @o[%i, %j] = %all where %both : f32
}
