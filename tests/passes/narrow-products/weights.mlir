// RUN: attndsl opt %s --passes narrow-products

// Two f16 tiles multiply as they are. A weight that may exceed f16 is not rounded to it, one that is at most 1 is.
// CHECK-LABEL: tile.kernel @k
// CHECK: %s = tile.dot %q, %k over %d rounded to "f16" : f32
// CHECK: %free = tile.dot %s, %v over %j rounded to "tf32x3" : f32
// CHECK: %kept = tile.dot %p, %v over %j rounded to "f16" : f32
spec.tensor @q "input" "f16" ["M", "D"]
spec.tensor @k "input" "f16" ["N", "D"]
spec.tensor @v "input" "f16" ["N", "E"]
spec.tensor @o "output" "f32" ["M", "E"]
tile.kernel @k {
  %keys = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %E = spec.dim "E"
  %i0 = tile.program "i" to %M step %keys
  %i = tile.range "i" from %i0 to %M size %keys
  %d = tile.range "d" from %zero to %D size %D
  %e = tile.range "e" from %zero to %E size %E
  %q = tile.load @q[%i, %d] : f32
  %start = tile.broadcast %none over (%i, %e) : f32 to f32
  %m0 = tile.broadcast %low over (%i) : f32 to f32
  %m, %o = tile.loop %j0 = %zero to %N step %keys iter_args(%max = %m0, %sum = %start) -> (f32, f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @k[%j, %d] : f32
    %v = tile.load @v[%j, %e] : f32
    %s = tile.dot %q, %k over %d : f32
    %free = tile.dot %s, %v over %j : f32
    %largest = tile.max %s over %j : f32 to f32
    %larger = arith.maximumf %max, %largest : f32
    %x = arith.subf %s, %larger : f32
    %p = math.exp2 %x : f32
    tile.within %p from 0.0 to 1.0 : f32
    %kept = tile.dot %p, %v over %j : f32
    %both = arith.addf %free, %kept : f32
    %next = arith.addf %sum, %both : f32
    tile.yield %larger, %next : f32, f32
  }
  tile.store @o[%i, %e] = %o : f32
}
