// RUN: attndsl opt %s --passes tile{rows=4,keys=8},canonicalize,cse
// A contraction is a matrix product, a sum of a tile, or a loop.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @w "input" "f32" ["M", "N", "D"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: tile.kernel @dot {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 8 : index
// CHECK-NEXT:    [[V3:%\d+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:    %m = tile.broadcast [[V3]] over(%i) : f32 to f32
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %d = tile.range "d" from [[V1]] to %D size %D
// CHECK-NEXT:    %q = tile.load @q[%i, %d] : f32
// CHECK-NEXT:    %m_1 = tile.loop %j0 = [[V1]] to %N step [[V2]] iter_args(%m_2 = %m) -> (f32) {
// CHECK-NEXT:      %j = tile.range "j" from %j0 to %N size [[V2]]
// CHECK-NEXT:      %k = tile.load @k[%j, %d] : f32
// CHECK-NEXT:      %s = tile.dot %q, %k over %d : f32
// CHECK-NEXT:      [[V4:%\d+]] = tile.max %s over %j : f32 to f32
// CHECK-NEXT:      %m_3 = arith.maximumf %m_2, [[V4]] : f32
// CHECK-NEXT:      tile.yield %m_3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i] = %m_1 : f32
// CHECK-NEXT:  }
attn.kernel @dot {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %q = attn.read @q[%i, %d] : f32
  %k = attn.read @k[%j, %d] : f32
  %p = arith.mulf %q, %k : f32
  %s = attn.sum %p over %d : f32
  %m = attn.max %s over %j : f32
  attn.write @o[%i] = %m : f32
}

// CHECK-LABEL: tile.kernel @sum {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 8 : index
// CHECK-NEXT:    [[V3:%\d+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:    %m = tile.broadcast [[V3]] over() : f32 to f32
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %d = tile.range "d" from [[V1]] to %D size %D
// CHECK-NEXT:    %m_1 = tile.loop %j0 = [[V1]] to %N step [[V2]] iter_args(%m_2 = %m) -> (f32) {
// CHECK-NEXT:      %j = tile.range "j" from %j0 to %N size [[V2]]
// CHECK-NEXT:      %k = tile.load @k[%j, %d] : f32
// CHECK-NEXT:      %s = tile.sum %k over %d : f32 to f32
// CHECK-NEXT:      [[V4:%\d+]] = tile.max %s over %j : f32 to f32
// CHECK-NEXT:      %m_3 = arith.maximumf %m_2, [[V4]] : f32
// CHECK-NEXT:      tile.yield %m_3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i] = %m_1 : f32
// CHECK-NEXT:  }
attn.kernel @sum {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %k = attn.read @k[%j, %d] : f32
  %s = attn.sum %k over %d : f32
  %m = attn.max %s over %j : f32
  attn.write @o[%i] = %m : f32
}

// CHECK-LABEL: tile.kernel @loop {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 8 : index
// CHECK-NEXT:    [[V3:%\d+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:    %m = tile.broadcast [[V3]] over(%i) : f32 to f32
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    [[V4:%\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    [[V5:%\d+]] = arith.constant 1 : index
// CHECK-NEXT:    %m_1 = tile.loop %j0 = [[V1]] to %N step [[V2]] iter_args(%m_2 = %m) -> (f32) {
// CHECK-NEXT:      %j = tile.range "j" from %j0 to %N size [[V2]]
// CHECK-NEXT:      [[V6:%\d+]] = tile.broadcast [[V4]] over(%i, %j) : f32 to f32
// CHECK-NEXT:      %s = tile.loop %d = [[V1]] to %D step [[V5]] iter_args([[V7:%\d+]] = [[V6]]) -> (f32) {
// CHECK-NEXT:        %w = tile.load @w[%i, %j, %d] : f32
// CHECK-NEXT:        [[V8:%\d+]] = arith.addf [[V7]], %w : f32
// CHECK-NEXT:        tile.yield [[V8]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      [[V9:%\d+]] = tile.max %s over %j : f32 to f32
// CHECK-NEXT:      %m_3 = arith.maximumf %m_2, [[V9]] : f32
// CHECK-NEXT:      tile.yield %m_3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i] = %m_1 : f32
// CHECK-NEXT:  }
attn.kernel @loop {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %w = attn.read @w[%i, %j, %d] : f32
  %s = attn.sum %w over %d : f32
  %m = attn.max %s over %j : f32
  attn.write @o[%i] = %m : f32
}

// CHECK-LABEL: tile.kernel @largest_of_a_tile {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 0 : index
// CHECK-NEXT:    %d = tile.range "d" from [[V1]] to %D size %D
// CHECK-NEXT:    %q = tile.load @q[%i, %d] : f32
// CHECK-NEXT:    %m = tile.max %q over %d : f32 to f32
// CHECK-NEXT:    tile.store @o[%i] = %m : f32
// CHECK-NEXT:  }
attn.kernel @largest_of_a_tile {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.row "i" to %M
  %d = attn.axis "d" to %D
  %q = attn.read @q[%i, %d] : f32
  %m = attn.axis_max %q over %d : f32
  attn.write @o[%i] = %m : f32
}

// CHECK-LABEL: tile.kernel @smallest_in_turn {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 8 : index
// CHECK-NEXT:    [[V3:%\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %t = tile.broadcast [[V3]] over(%i) : f32 to f32
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    [[V4:%\d+]] = arith.constant 0x7f800000 : f32
// CHECK-NEXT:    [[V5:%\d+]] = arith.constant 1 : index
// CHECK-NEXT:    %t_1 = tile.loop %j0 = [[V1]] to %N step [[V2]] iter_args(%t_2 = %t) -> (f32) {
// CHECK-NEXT:      %j = tile.range "j" from %j0 to %N size [[V2]]
// CHECK-NEXT:      [[V6:%\d+]] = tile.broadcast [[V4]] over(%i, %j) : f32 to f32
// CHECK-NEXT:      %m = tile.loop %d = [[V1]] to %D step [[V5]] iter_args([[V7:%\d+]] = [[V6]]) -> (f32) {
// CHECK-NEXT:        %w = tile.load @w[%i, %j, %d] : f32
// CHECK-NEXT:        [[V8:%\d+]] = arith.minimumf [[V7]], %w : f32
// CHECK-NEXT:        tile.yield [[V8]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      [[V9:%\d+]] = tile.sum %m over %j : f32 to f32
// CHECK-NEXT:      %t_3 = arith.addf %t_2, [[V9]] : f32
// CHECK-NEXT:      tile.yield %t_3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i] = %t_1 : f32
// CHECK-NEXT:  }
attn.kernel @smallest_in_turn {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %w = attn.read @w[%i, %j, %d] : f32
  %m = attn.axis_min %w over %d : f32
  %t = attn.total %m over %j : f32
  attn.write @o[%i] = %t : f32
}
