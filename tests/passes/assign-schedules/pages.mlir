// RUN: attndsl opt %s --passes assign-schedules{machine="cuda:90"}

// What adds up in registers stays within blocks of keys too.
// CHECK-LABEL: tile.kernel @k schedules
// CHECK-SAME: {KEYS = 32 : index, num_warps = 4 : index, num_stages = 1 : index}] {
spec.tensor @x "input" "f32" ["N", "M"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %KEYS = spec.choice "KEYS" divides 32 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = tile.program "i" to %M step %one
  %t = tile.loop %j0 = %zero to %N step %KEYS iter_args(%m = %low) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %KEYS
    %x = tile.load @x[%j, %i] : f32
    %largest = tile.max %x over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}
