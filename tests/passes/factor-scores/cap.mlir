// RUN: attndsl opt %s --passes factor-scores

// A cap's sign goes to what the odd function is of, and its size to the maximum and the exponent.
// CHECK-LABEL: tile.kernel @cap
// CHECK: %[[NEGATIVE:.*]] = arith.cmpf olt, %cap, %{{.*}}
// CHECK: %[[TURNED:.*]] = arith.negf %inner
// CHECK: %[[INNER:.*]] = arith.select %[[NEGATIVE]], %[[TURNED]], %inner
// CHECK: %[[SIZE:.*]] = math.absf %cap
// CHECK: %[[SCALE:.*]] = arith.maximumf %[[SIZE]], %{{.*}}
// CHECK: tile.loop
// CHECK: %[[S:.*]] = arith.mulf %v, %[[INNER]]
// CHECK: %[[X:.*]] = math.tanh %[[S]]
// CHECK: %[[M:.*]] = tile.max %[[X]] over %j
// CHECK: %[[CM:.*]] = arith.mulf %[[M]], %[[SCALE]]
// CHECK: arith.maximumf %m_1, %[[CM]]
// CHECK: %[[CX:.*]] = arith.mulf %[[X]], %[[SCALE]]
// CHECK: arith.subf %[[CX]], %m_new
spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @c "input" "f32" []
spec.tensor @y "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @o2 "output" "f32" ["M"]
tile.kernel @cap {
  %rows = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %cap = tile.load @c[] : f32
  %inner = arith.divf %one, %cap : f32
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %m = tile.broadcast %low over(%i) : f32 to f32
  %found = tile.loop %j0 = %zero to %N step %rows iter_args(%m_1 = %m) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %rows
    %v = tile.load @x[%i, %j] : f32
    %s = arith.mulf %v, %inner : f32
    %h = math.tanh %s : f32
    %score = arith.mulf %h, %cap : f32
    %t = tile.max %score over %j : f32 to f32
    %m_new = arith.maximumf %m_1, %t : f32
    %less = arith.subf %score, %m_new : f32
    %p = math.exp2 %less : f32
    %y = tile.load @y[%j] : f32
    %part = tile.dot %p, %y over %j : f32
    %next = arith.addf %m_new, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%i] = %found : f32
}

// A function that is not odd keeps what it is multiplied with, and so does one of what has no factor.
// CHECK-LABEL: tile.kernel @not_odd
// CHECK: %score = arith.mulf %h, %cap
// CHECK: tile.max %score over %j
// CHECK: %score_1 = arith.mulf %h_1, %cap
// CHECK: tile.max %score_1 over %j
tile.kernel @not_odd {
  %rows = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %half = arith.constant 5.000000e-01 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %cap = tile.load @c[] : f32
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %m = tile.broadcast %low over(%i) : f32 to f32
  %found = tile.loop %j0 = %zero to %N step %rows iter_args(%m_1 = %m) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %rows
    %v = tile.load @x[%i, %j] : f32
    %s = arith.mulf %v, %half : f32
    %h = math.cos %s : f32
    %score = arith.mulf %h, %cap : f32
    %t = tile.max %score over %j : f32 to f32
    %m_new = arith.maximumf %m_1, %t : f32
    %less = arith.subf %score, %m_new : f32
    %p = math.exp2 %less : f32
    %h_1 = math.tanh %v : f32
    %score_1 = arith.mulf %h_1, %cap : f32
    %t_1 = tile.max %score_1 over %j : f32 to f32
    %m_2 = arith.maximumf %m_new, %t_1 : f32
    %less_1 = arith.subf %score_1, %m_2 : f32
    %p_1 = math.exp2 %less_1 : f32
    %both = arith.mulf %p, %p_1 : f32
    %y = tile.load @y[%j] : f32
    %part = tile.dot %both, %y over %j : f32
    %next = arith.addf %m_2, %part : f32
    tile.yield %next : f32
  }
  tile.store @o2[%i] = %found : f32
}
