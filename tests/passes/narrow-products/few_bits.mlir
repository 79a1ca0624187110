// RUN: attndsl opt %s --passes narrow-products

// An integer of 8 bits is exact in bf16, and 4 bits of one times a scale of 4; times a scale of 11 it is not.
// CHECK-LABEL: tile.kernel @k
// CHECK: %whole = tile.dot %q, %n over %d rounded to "bf16" : f32
// CHECK: %few = tile.dot %q, %small over %d rounded to "bf16" : f32
// CHECK: %many = tile.dot %q, %large over %d rounded to "tf32x3" : f32
spec.tensor @q "input" "bf16" ["M", "D"]
spec.tensor @k "input" "i8" ["N", "D"]
spec.tensor @f8 "input" "f8e4m3" ["N", "D"]
spec.tensor @f16 "input" "f16" ["N", "D"]
spec.tensor @o "output" "f32" ["M", "N"]
tile.kernel @k {
  %zero = arith.constant 0 : index
  %tile = arith.constant 16 : index
  %mask = arith.constant 15 : index
  %eight = arith.constant 8 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %tile
  %i = tile.range "i" from %i0 to %M size %tile
  %j0 = tile.program "j" to %N step %tile
  %j = tile.range "j" from %j0 to %N size %tile
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %k = tile.load @k[%j, %d] : index
  %n = spec.to_float %k : f32
  %low = arith.andi %k, %mask : index
  %from = arith.subi %low, %eight : index
  %number = spec.to_float %from : f32
  %by = tile.load @f8[%j, %d] : f32
  %small = arith.mulf %number, %by : f32
  %scale = tile.load @f16[%j, %d] : f32
  %large = arith.mulf %number, %scale : f32
  %whole = tile.dot %q, %n over %d : f32
  %few = tile.dot %q, %small over %d : f32
  %many = tile.dot %q, %large over %d : f32
  %sum = arith.addf %whole, %few : f32
  %all = arith.addf %sum, %many : f32
  tile.store @o[%i, %j] = %all : f32
}
