// RUN: attndsl opt %s --passes narrow-products

// What a weight is made of does not matter, only what is said of it: as in a gradient, which has the sum of all weights
// before it makes one. Nothing is said of the third, and of the fourth too little.
// CHECK-LABEL: tile.kernel @k
// CHECK: tile.dot %p, %v over %{{.*}} rounded to "f16" : f32
// CHECK: tile.dot %seen, %v over %{{.*}} rounded to "f16" : f32
// CHECK: tile.dot %q, %v over %{{.*}} rounded to "tf32x3" : f32
// CHECK: tile.dot %r, %v over %{{.*}} rounded to "tf32x3" : f32
spec.tensor @s "input" "f32" ["M", "N"]
spec.tensor @v "input" "f16" ["N", "E"]
spec.tensor @o "output" "f32" ["M", "E"]
tile.kernel @k {
  %keys = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %i0 = tile.program "i" to %M step %keys
  %i = tile.range "i" from %i0 to %M size %keys
  %e = tile.range "e" from %zero to %E size %E
  %m0 = tile.broadcast %low over (%i) : f32 to f32
  %all = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %m0) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %s = tile.load @s[%i, %j] : f32
    %largest = tile.max %s over %j : f32 to f32
    %larger = arith.maximumf %m, %largest : f32
    tile.yield %larger : f32
  }
  %start = tile.broadcast %none over (%i, %e) : f32 to f32
  %o = tile.loop %j0 = %zero to %N step %keys iter_args(%sum = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %s = tile.load @s[%i, %j] : f32
    %v = tile.load @v[%j, %e] : f32
    %x = arith.subf %s, %all : f32
    %p = math.exp %x : f32
    tile.within %p from 0.0 to 1.0 : f32
    %sum1 = tile.dot %p, %v over %j : f32
    %causal = arith.cmpi sle, %j, %i : index
    %seen = arith.select %causal, %p, %none : f32
    %sum2 = tile.dot %seen, %v over %j : f32
    %q = math.exp2 %x : f32
    %sum3 = tile.dot %q, %v over %j : f32
    %r = math.exp %s : f32
    tile.within %r from 0.0 to 1000000.0 : f32
    %sum4 = tile.dot %r, %v over %j : f32
    %a = arith.addf %sum1, %sum2 : f32
    %b = arith.addf %sum3, %sum4 : f32
    %c = arith.addf %a, %b : f32
    %next = arith.addf %sum, %c : f32
    tile.yield %next : f32
  }
  tile.store @o[%i, %e] = %o : f32
}
