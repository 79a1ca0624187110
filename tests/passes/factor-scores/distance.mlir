// RUN: attndsl opt %s --passes factor-scores

// The distance to a tile's first key is common to its keys, and so is a row's own term; of a masked score -inf is left.
// A term that is subtracted, a slope of each row, and a distance that grows: all have their signs.
// CHECK-LABEL: tile.kernel @signs
// CHECK: %[[S1:.*]] = arith.divf %slope, %half
// CHECK: tile.loop
// CHECK: %[[P:.*]] = arith.subi %j, %j0
// CHECK: %[[C:.*]] = spec.to_float %[[P]]
// CHECK: %[[T:.*]] = arith.mulf %[[C]], %[[S1]]
// CHECK: %[[X:.*]] = arith.subf %v, %[[T]]
// CHECK: %[[A:.*]] = arith.subi %j0, %i
// CHECK: %[[F:.*]] = spec.to_float %[[A]]
// CHECK: %[[FS:.*]] = arith.mulf %[[F]], %slope
// CHECK: %[[COMMON:.*]] = arith.subf %own, %[[FS]]
// CHECK: %[[SEEN:.*]] = arith.select %see, %[[X]], %low
// CHECK: %[[M:.*]] = tile.max %[[SEEN]] over %j
// CHECK: %[[CM:.*]] = arith.mulf %[[M]], %half
// CHECK: %[[ALL:.*]] = arith.addf %[[CM]], %[[COMMON]]
// CHECK: %m_new = arith.maximumf %m_1, %[[ALL]]
// CHECK: %[[LESS:.*]] = arith.subf %shift, %[[COMMON]]
// CHECK: %[[SHIFT:.*]] = arith.maximumf %[[LESS]], %[[CM]]
// CHECK: %[[CX:.*]] = arith.mulf %[[SEEN]], %half
// CHECK: arith.subf %[[CX]], %[[SHIFT]]
spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @s "input" "f32" ["M"]
spec.tensor @y "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @o2 "output" "f32" ["M"]
spec.tensor @o3 "output" "f32" ["M"]
tile.kernel @signs {
  %rows = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %low = arith.constant 0xff800000 : f32
  %half = arith.constant 5.000000e-01 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %slope = tile.load @s[%i] : f32
  %m = tile.broadcast %low over(%i) : f32 to f32
  %l = tile.broadcast %none over(%i) : f32 to f32
  %found, %sum = tile.loop %j0 = %zero to %N step %rows iter_args(%m_1 = %m, %l_1 = %l) -> (f32, f32) {
    %j = tile.range "j" from %j0 to %N size %rows
    %v = tile.load @x[%i, %j] : f32
    %c = arith.mulf %v, %half : f32
    %way = arith.subi %j, %i : index
    %far = spec.to_float %way : f32
    %bias = arith.mulf %far, %slope : f32
    %own = arith.mulf %slope, %half : f32
    %a = arith.addf %c, %own : f32
    %score = arith.subf %a, %bias : f32
    %see = arith.cmpi sge, %i, %j : index
    %seen = arith.select %see, %score, %low : f32
    %t = tile.max %seen over %j : f32 to f32
    %m_new = arith.maximumf %m_1, %t : f32
    %empty = arith.cmpf oeq, %m_new, %low : f32
    %shift = arith.select %empty, %none, %m_new : f32
    %less = arith.subf %seen, %shift : f32
    %p = math.exp2 %less : f32
    %y = tile.load @y[%j] : f32
    %part = tile.dot %p, %y over %j : f32
    %old = arith.subf %m_1, %shift : f32
    %alpha = math.exp2 %old : f32
    %kept = arith.mulf %l_1, %alpha : f32
    %l_2 = arith.addf %kept, %part : f32
    tile.yield %m_new, %l_2 : f32, f32
  }
  %done = arith.addf %sum, %found : f32
  tile.store @o[%i] = %done : f32
}

// Without a factor that is known to be positive the place of a key is added to the score as it is.
// CHECK-LABEL: tile.kernel @no_factor
// CHECK: tile.loop
// CHECK: %[[X:.*]] = arith.addf %c, %{{.*}}
// CHECK: %[[M:.*]] = tile.max %[[X]] over %j
// CHECK: arith.addf %[[M]], %{{.*}}
// CHECK: arith.subf %[[X]], %{{.*}}
tile.kernel @no_factor {
  %rows = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %minus = arith.constant -5.000000e-01 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %m = tile.broadcast %low over(%i) : f32 to f32
  %found = tile.loop %j0 = %zero to %N step %rows iter_args(%m_1 = %m) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %rows
    %v = tile.load @x[%i, %j] : f32
    %c = arith.mulf %v, %minus : f32
    %way = arith.subi %j, %i : index
    %far = spec.to_float %way : f32
    %score = arith.addf %c, %far : f32
    %t = tile.max %score over %j : f32 to f32
    %m_new = arith.maximumf %m_1, %t : f32
    %less = arith.subf %score, %m_new : f32
    %p = math.exp2 %less : f32
    %y = tile.load @y[%j] : f32
    %part = tile.dot %p, %y over %j : f32
    %next = arith.addf %m_new, %part : f32
    tile.yield %next : f32
  }
  tile.store @o2[%i] = %found : f32
}

// A distance that goes by two, one that a key's own factor scales, and scores that go elsewhere are left alone.
// CHECK-LABEL: tile.kernel @others
// CHECK-NOT: arith.subi %j, %j0
// CHECK: tile.store
tile.kernel @others {
  %rows = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %low = arith.constant 0xff800000 : f32
  %half = arith.constant 5.000000e-01 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %m = tile.broadcast %low over(%i) : f32 to f32
  %found = tile.loop %j0 = %zero to %N step %rows iter_args(%m_1 = %m) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %rows
    %v = tile.load @x[%i, %j] : f32
    %own = tile.load @x[%zero, %j] : f32
    %c = arith.mulf %v, %half : f32
    %twice = arith.muli %j, %two : index
    %way = arith.subi %twice, %i : index
    %far = spec.to_float %way : f32
    %a = arith.addf %c, %far : f32
    %near = arith.subi %j, %i : index
    %near_f = spec.to_float %near : f32
    %weighed = arith.mulf %near_f, %own : f32
    %score = arith.addf %a, %weighed : f32
    %t = tile.max %score over %j : f32 to f32
    %m_new = arith.maximumf %m_1, %t : f32
    %less = arith.subf %score, %m_new : f32
    %p = math.exp2 %less : f32
    %c_2 = arith.mulf %v, %half : f32
    %b = arith.addf %c_2, %near_f : f32
    %t_2 = tile.max %b over %j : f32 to f32
    %m_2 = arith.maximumf %m_new, %t_2 : f32
    %less_2 = arith.subf %b, %m_2 : f32
    %p_2 = math.exp2 %less_2 : f32
    %both = arith.mulf %p, %p_2 : f32
    %again = arith.mulf %both, %b : f32
    %y = tile.load @y[%j] : f32
    %part = tile.dot %again, %y over %j : f32
    %next = arith.addf %m_2, %part : f32
    tile.yield %next : f32
  }
  tile.store @o3[%i] = %found : f32
}
