// RUN: attndsl opt %s --passes tile{rows=4,keys=8},canonicalize,cse
// A mask, of keys alone or of rows and keys, is put into the product; ends of rows are tested.

spec.tensor @s "input" "f32" ["M", "N"]
spec.tensor @v "input" "f32" ["N", "E"]
spec.tensor @p "input" "bool" ["N"]
spec.tensor @n "input" "i32" ["M"]
spec.tensor @o "output" "f32" ["M", "E"]

// CHECK-LABEL: tile.kernel @of_keys {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    [[V1:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.constant 8 : index
// CHECK-NEXT:    [[V3:%\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %e = tile.range "e" from [[V1]] to %E size %E
// CHECK-NEXT:    %t = tile.broadcast [[V3]] over(%i, %e) : f32 to f32
// CHECK-NEXT:    %t_1 = tile.loop %j0 = [[V1]] to %N step [[V2]] iter_args(%t_2 = %t) -> (f32) {
// CHECK-NEXT:      %j = tile.range "j" from %j0 to %N size [[V2]]
// CHECK-NEXT:      %s = tile.load @s[%i, %j] : f32
// CHECK-NEXT:      %v = tile.load @v[%j, %e] : f32
// CHECK-NEXT:      %p = tile.load @p[%j] : i1
// CHECK-NEXT:      %s_1 = arith.select %p, %s, [[V3]] : f32
// CHECK-NEXT:      [[V4:%\w+]] = tile.dot %s_1, %v over %j where %p : f32
// CHECK-NEXT:      %t_3 = arith.addf %t_2, [[V4]] : f32
// CHECK-NEXT:      tile.present %p
// CHECK-NEXT:      tile.yield %t_3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i, %e] = %t_1 : f32
// CHECK-NEXT:  }
attn.kernel @of_keys {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %e = attn.axis "e" to %E
  %s = attn.read @s[%i, %j] : f32
  %v = attn.read @v[%j, %e] : f32
  %p = attn.read @p[%j] : i1
  %x = arith.mulf %s, %v : f32
  %t = attn.total %x over %j where %p : f32
  attn.write @o[%i, %e] = %t : f32
}

// CHECK-LABEL: tile.kernel @of_rows_and_keys {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    [[V1:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V2:%\w+]] = arith.constant 8 : index
// CHECK-NEXT:    [[V3:%\w+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:    %m = tile.broadcast [[V3]] over(%i) : f32 to f32
// CHECK-NEXT:    [[V4:%\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %l = tile.broadcast [[V4]] over(%i) : f32 to f32
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %e = tile.range "e" from [[V1]] to %E size %E
// CHECK-NEXT:    %a = tile.broadcast [[V4]] over(%i, %e) : f32 to f32
// CHECK-NEXT:    %m_1, %l_1, %a_1 = tile.loop %j0 = [[V1]] to %N step [[V2]] iter_args(%m_2 = %m, %l_2 = %l, %a_2 = %a) -> (f32, f32, f32) {
// CHECK-NEXT:      %j = tile.range "j" from %j0 to %N size [[V2]]
// CHECK-NEXT:      %s = tile.load @s[%i, %j] : f32
// CHECK-NEXT:      %v = tile.load @v[%j, %e] : f32
// CHECK-NEXT:      %seen = arith.cmpi ne, %j, %i : index
// CHECK-NEXT:      %s_1 = arith.select %seen, %s, [[V3]] : f32
// CHECK-NEXT:      [[V5:%\w+]] = tile.max %s_1 over %j : f32 to f32
// CHECK-NEXT:      %m_new = arith.maximumf %m_2, [[V5]] : f32
// CHECK-NEXT:      [[V6:%\w+]] = arith.cmpf oeq, %m_new, [[V3]] : f32
// CHECK-NEXT:      %shift = arith.select [[V6]], [[V4]], %m_new : f32
// CHECK-NEXT:      [[V7:%\w+]] = arith.subf %s_1, %shift : f32
// CHECK-NEXT:      %p = math.exp2 [[V7]] : f32
// CHECK-NEXT:      [[V8:%\w+]] = arith.subf %m_2, %shift : f32
// CHECK-NEXT:      %alpha = math.exp2 [[V8]] : f32
// CHECK-NEXT:      tile.within %p from 0.000000e+00 to 1.000000e+00 : f32
// CHECK-NEXT:      [[V9:%\w+]] = tile.sum %p over %j : f32 to f32
// CHECK-NEXT:      [[V10:%\w+]] = arith.mulf %l_2, %alpha : f32
// CHECK-NEXT:      %l_3 = arith.addf [[V10]], [[V9]] : f32
// CHECK-NEXT:      [[V11:%\w+]] = tile.dot %p, %v over %j where %seen : f32
// CHECK-NEXT:      [[V12:%\w+]] = arith.mulf %a_2, %alpha : f32
// CHECK-NEXT:      %a_3 = arith.addf [[V12]], [[V11]] : f32
// CHECK-NEXT:      tile.present %seen
// CHECK-NEXT:      tile.yield %m_new, %l_3, %a_3 : f32, f32, f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i, %e] = %a_1 : f32
// CHECK-NEXT:  }
attn.kernel @of_rows_and_keys {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %e = attn.axis "e" to %E
  %s = attn.read @s[%i, %j] : f32
  %v = attn.read @v[%j, %e] : f32
  %seen = arith.cmpi ne, %j, %i : index
  %m, %l, %a = attn.stream %s, (%v) over %j where %seen : f32, f32, (f32)
  attn.write @o[%i, %e] = %a : f32
}

// CHECK-LABEL: tile.kernel @ends_of_rows {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program descending "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %n = tile.load @n[%i] : index
// CHECK-NEXT:    %length = arith.minsi %n, %N : index
// CHECK-NEXT:    [[V1:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:    %stop = tile.max %length over %i : index to index
// CHECK-NEXT:    [[V2:%\w+]] = arith.constant 8 : index
// CHECK-NEXT:    [[V3:%\w+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %e = tile.range "e" from [[V1]] to %E size %E
// CHECK-NEXT:    %t = tile.broadcast [[V3]] over(%i, %e) : f32 to f32
// CHECK-NEXT:    %t_1 = tile.loop %j0 = [[V1]] to %stop step [[V2]] rows from [[V1]] to %length iter_args(%t_2 = %t) -> (f32) {
// CHECK-NEXT:      %j = tile.range "j" from %j0 to %stop size [[V2]]
// CHECK-NEXT:      [[V4:%\w+]] = arith.cmpi sgt, %length, %j : index
// CHECK-NEXT:      %v = tile.load @v[%j, %e] : f32
// CHECK-NEXT:      %v_1 = arith.select [[V4]], %v, [[V3]] : f32
// CHECK-NEXT:      [[V5:%\w+]] = tile.max %v_1 over %j : f32 to f32
// CHECK-NEXT:      %t_3 = arith.maximumf %t_2, [[V5]] : f32
// CHECK-NEXT:      tile.yield %t_3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i, %e] = %t_1 : f32
// CHECK-NEXT:  }
attn.kernel @ends_of_rows {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %i = attn.row "i" to %M
  %n = attn.read @n[%i] : index
  %length = arith.minsi %n, %N : index
  %j = attn.over "j" to %length
  %e = attn.axis "e" to %E
  %v = attn.read @v[%j, %e] : f32
  %t = attn.max %v over %j : f32
  attn.write @o[%i, %e] = %t : f32
}
