// RUN: attndsl opt %s --passes narrow-products
// No operand of a precise product is the weight of a key: it is rounded only where nothing is lost.

// CHECK-LABEL: tile.kernel @k
// CHECK: %exact = tile.dot %x, %w over %r precise rounded to "bf16" : f32
// CHECK: %part = tile.dot %u, %w over %r precise rounded to "tf32x3" : f32
spec.tensor @x "input" "bf16" ["M", "R"]
spec.tensor @u "input" "f32" ["M", "R"]
spec.tensor @w "input" "bf16" ["R", "E"]
spec.tensor @o "output" "bf16" ["M", "E"]
tile.kernel @k {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %rows = arith.constant 16 : index
  %M = spec.dim "M"
  %R = spec.dim "R"
  %E = spec.dim "E"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %e = tile.range "e" from %zero to %E size %E
  %start = tile.broadcast %none over (%i, %e) : f32 to f32
  %o = tile.loop %r0 = %zero to %R step %rows iter_args(%sum = %start) -> (f32) {
    %r = tile.range "r" from %r0 to %R size %rows
    %x = tile.load @x[%i, %r] : f32
    %u = tile.load @u[%i, %r] : f32
    %w = tile.load @w[%r, %e] : f32
    %exact = tile.dot %x, %w over %r precise : f32
    %part = tile.dot %u, %w over %r precise : f32
    %both = arith.addf %exact, %part : f32
    %next = arith.addf %sum, %both : f32
    tile.yield %next : f32
  }
  tile.store @o[%i, %e] = %o : f32
}
