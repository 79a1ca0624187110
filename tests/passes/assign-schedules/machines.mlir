// RUN: attndsl opt %s --passes assign-schedules{machine="hip:gfx942"}

// What has little shared memory gets fewer stages; the sizes that a spec pins are not chosen.
// CHECK-LABEL: tile.kernel @k schedules [{ROWS = 16 : index, num_warps
// CHECK-NOT: KEYS
spec.tensor @x "input" "f16" ["M", "N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %rows = spec.choice "ROWS"
  %keys = arith.constant 32 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %start = tile.broadcast %low over (%i) : f32 to f32
  %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %x = tile.load @x[%i, %j] : f32
    %largest = tile.max %x over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}
