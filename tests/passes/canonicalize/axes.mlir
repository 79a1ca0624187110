// RUN: attndsl opt %s --passes canonicalize
// What becomes simpler than to vary along an axis is broadcast where the axis is needed; a matrix product of which one
// side has no axis of its own any more is a sum.

spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @y "input" "f32" ["M", "N", "M"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @p "output" "f32" ["M", "M"]

// CHECK-LABEL: tile.kernel @reduced {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %none = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %i0 = tile.program "i" to %M step %M
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size %M
// CHECK-NEXT:    %j = tile.range "j" from %zero to %N size %N
// CHECK-NEXT:    [[V0:%\d+]] = tile.broadcast %none over(%j) : f32 to f32
// CHECK-NEXT:    %s = tile.sum [[V0]] over %j : f32 to f32
// CHECK-NEXT:    tile.store @o[%i] = %s : f32
// CHECK-NEXT:  }
tile.kernel @reduced {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %zero = arith.constant 0 : index
  %false = arith.constant false
  %none = arith.constant 0.0 : f32
  %i0 = tile.program "i" to %M step %M
  %i = tile.range "i" from %i0 to %M size %M
  %j = tile.range "j" from %zero to %N size %N
  %x = tile.load @x[%i, %j] : f32
  %never = arith.select %false, %x, %none : f32
  %s = tile.sum %never over %j : f32 to f32
  tile.store @o[%i] = %s : f32
}

// CHECK-LABEL: tile.kernel @multiplied {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step %M
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size %M
// CHECK-NEXT:    %j = tile.range "j" from %zero to %N size %N
// CHECK-NEXT:    %x = tile.load @x[%i, %j] : f32
// CHECK-NEXT:    %y = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %s = arith.mulf %x, %y : f32
// CHECK-NEXT:    %s_1 = tile.sum %s over %j : f32 to f32
// CHECK-NEXT:    tile.store @o[%i] = %s_1 : f32
// CHECK-NEXT:  }
tile.kernel @multiplied {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %zero = arith.constant 0 : index
  %false = arith.constant false
  %i0 = tile.program "i" to %M step %M
  %i = tile.range "i" from %i0 to %M size %M
  %j = tile.range "j" from %zero to %N size %N
  %x = tile.load @x[%i, %j] : f32
  %y = tile.load @x[%zero, %j] where %false : f32
  %s = tile.dot %x, %y over %j : f32
  tile.store @o[%i] = %s : f32
}

// CHECK-LABEL: tile.kernel @carried {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %one = arith.constant 1 : index
// CHECK-NEXT:    %none = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %i0 = tile.program "i" to %M step %M
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size %M
// CHECK-NEXT:    %start = tile.broadcast %none over(%i) : f32 to f32
// CHECK-NEXT:    %s = tile.loop %j = %zero to %N step %one iter_args(%a = %start) -> (f32) {
// CHECK-NEXT:      [[V0:%\d+]] = tile.broadcast %none over(%i) : f32 to f32
// CHECK-NEXT:      tile.yield [[V0]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i] = %s : f32
// CHECK-NEXT:  }
tile.kernel @carried {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %true = arith.constant true
  %none = arith.constant 0.0 : f32
  %i0 = tile.program "i" to %M step %M
  %i = tile.range "i" from %i0 to %M size %M
  %start = tile.broadcast %none over (%i) : f32 to f32
  %s = tile.loop %j = %zero to %N step %one iter_args(%a = %start) -> (f32) {
    %reset = arith.select %true, %none, %a : f32
    tile.yield %reset : f32
  }
  tile.store @o[%i] = %s : f32
}

// Both sides have the batch axis i, and only one has an axis of its own.
// CHECK-LABEL: tile.kernel @batched {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step %M
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size %M
// CHECK-NEXT:    %j = tile.range "j" from %zero to %N size %N
// CHECK-NEXT:    %e = tile.range "e" from %zero to %M size %M
// CHECK-NEXT:    %x = tile.load @x[%i, %j] : f32
// CHECK-NEXT:    %y = tile.load @y[%i, %j, %e] : f32
// CHECK-NEXT:    %s = arith.mulf %x, %y : f32
// CHECK-NEXT:    %s_1 = tile.sum %s over %j : f32 to f32
// CHECK-NEXT:    tile.store @p[%i, %e] = %s_1 : f32
// CHECK-NEXT:  }
tile.kernel @batched {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %zero = arith.constant 0 : index
  %i0 = tile.program "i" to %M step %M
  %i = tile.range "i" from %i0 to %M size %M
  %j = tile.range "j" from %zero to %N size %N
  %e = tile.range "e" from %zero to %M size %M
  %x = tile.load @x[%i, %j] : f32
  %y = tile.load @y[%i, %j, %e] : f32
  %s = tile.dot %x, %y over %j : f32
  tile.store @p[%i, %e] = %s : f32
}
