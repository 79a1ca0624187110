// RUN: attndsl opt %s --passes stream-softmax,canonicalize,cse
// One stream a score and mask; a sink joins at the end.

spec.tensor @s "input" "f32" ["M", "N"]
spec.tensor @v "input" "f32" ["N"]
spec.tensor @z "input" "f32" ["M"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @l "output" "f32" ["M"]

// CHECK-LABEL: attn.kernel @sink {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %s = attn.read @s[%i, %j] : f32
// CHECK-NEXT:    %v = attn.read @v[%j] : f32
// CHECK-NEXT:    %z = attn.read @z[%i] : f32
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 1.44269502 : f32
// CHECK-NEXT:    %s_1 = arith.mulf %s, [[V0]] : f32
// CHECK-NEXT:    %m, %l, [[V1:%\d+]] = attn.stream %s_1, (%v) over %j : f32, f32, (f32)
// CHECK-NEXT:    %z_1 = arith.mulf %z, [[V0]] : f32
// CHECK-NEXT:    [[V2:%\d+]] = arith.maximumf %m, %z_1 : f32
// CHECK-NEXT:    [[V3:%\d+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:    [[V4:%\d+]] = arith.cmpf oeq, [[V2]], [[V3]] : f32
// CHECK-NEXT:    [[V5:%\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    [[V6:%\d+]] = arith.select [[V4]], [[V5]], [[V2]] : f32
// CHECK-NEXT:    [[V7:%\d+]] = arith.subf %m, [[V6]] : f32
// CHECK-NEXT:    [[V8:%\d+]] = math.exp2 [[V7]] : f32
// CHECK-NEXT:    [[V9:%\d+]] = arith.subf %z_1, [[V6]] : f32
// CHECK-NEXT:    [[V10:%\d+]] = math.exp2 [[V9]] : f32
// CHECK-NEXT:    [[V11:%\d+]] = arith.mulf %l, [[V8]] : f32
// CHECK-NEXT:    [[V12:%\d+]] = arith.addf [[V11]], [[V10]] : f32
// CHECK-NEXT:    [[V13:%\d+]] = arith.mulf [[V1]], [[V8]] : f32
// CHECK-NEXT:    [[V14:%\d+]] = arith.cmpf oeq, [[V12]], [[V5]] : f32
// CHECK-NEXT:    [[ONE15:%\d+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    [[SHARE15:%\d+]] = arith.divf [[ONE15]], [[V12]] : f32
// CHECK-NEXT:    [[V15:%\d+]] = arith.mulf [[V13]], [[SHARE15]] : f32
// CHECK-NEXT:    %r = arith.select [[V14]], [[V5]], [[V15]] : f32
// CHECK-NEXT:    attn.write @o[%i] = %r : f32
// CHECK-NEXT:  }
attn.kernel @sink {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %s = attn.read @s[%i, %j] : f32
  %v = attn.read @v[%j] : f32
  %z = attn.read @z[%i] : f32
  %r = attn.softmax %s, %v over %j sink %z : f32
  attn.write @o[%i] = %r : f32
}

// CHECK-LABEL: attn.kernel @shared {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %s = attn.read @s[%i, %j] : f32
// CHECK-NEXT:    %v = attn.read @v[%j] : f32
// CHECK-NEXT:    %seen = arith.cmpi slt, %j, %i : index
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 1.44269502 : f32
// CHECK-NEXT:    %s_1 = arith.mulf %s, [[V1]] : f32
// CHECK-NEXT:    %m, %l, [[V2:%\d+]] = attn.stream %s_1, (%v) over %j where %seen : f32, f32, (f32)
// CHECK-NEXT:    [[V3:%\d+]] = arith.cmpf oeq, %l, [[V0]] : f32
// CHECK-NEXT:    [[ONE4:%\d+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    [[SHARE4:%\d+]] = arith.divf [[ONE4]], %l : f32
// CHECK-NEXT:    [[V4:%\d+]] = arith.mulf [[V2]], [[SHARE4]] : f32
// CHECK-NEXT:    %r = arith.select [[V3]], [[V0]], [[V4]] : f32
// CHECK-NEXT:    [[V5:%\d+]] = math.log2 %l : f32
// CHECK-NEXT:    [[V6:%\d+]] = arith.addf %m, [[V5]] : f32
// CHECK-NEXT:    [[V7:%\d+]] = arith.constant 0.693147182 : f32
// CHECK-NEXT:    %lse = arith.mulf [[V6]], [[V7]] : f32
// CHECK-NEXT:    attn.write @o[%i] = %r : f32
// CHECK-NEXT:    attn.write @l[%i] = %lse : f32
// CHECK-NEXT:  }
attn.kernel @shared {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %s = attn.read @s[%i, %j] : f32
  %v = attn.read @v[%j] : f32
  %seen = arith.cmpi slt, %j, %i : index
  %r = attn.softmax %s, %v over %j where %seen : f32
  %lse = attn.logsumexp %s over %j where %seen : f32
  attn.write @o[%i] = %r : f32
  attn.write @l[%i] = %lse : f32
}

// CHECK-LABEL: attn.kernel @not_shared {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %s = attn.read @s[%i, %j] : f32
// CHECK-NEXT:    %v = attn.read @v[%j] : f32
// CHECK-NEXT:    %seen = arith.cmpi slt, %j, %i : index
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 1.44269502 : f32
// CHECK-NEXT:    %s_1 = arith.mulf %s, [[V0]] : f32
// CHECK-NEXT:    %m, %l, [[V1:%\d+]] = attn.stream %s_1, (%v) over %j where %seen : f32, f32, (f32)
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    [[V3:%\d+]] = arith.cmpf oeq, %l, [[V2]] : f32
// CHECK-NEXT:    [[ONE4:%\d+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    [[SHARE4:%\d+]] = arith.divf [[ONE4]], %l : f32
// CHECK-NEXT:    [[V4:%\d+]] = arith.mulf [[V1]], [[SHARE4]] : f32
// CHECK-NEXT:    %r = arith.select [[V3]], [[V2]], [[V4]] : f32
// CHECK-NEXT:    %m_1, %l_1 = attn.stream %s_1, () over %j : f32, f32, ()
// CHECK-NEXT:    [[V5:%\d+]] = math.log2 %l_1 : f32
// CHECK-NEXT:    [[V6:%\d+]] = arith.addf %m_1, [[V5]] : f32
// CHECK-NEXT:    [[V7:%\d+]] = arith.constant 0.693147182 : f32
// CHECK-NEXT:    %lse = arith.mulf [[V6]], [[V7]] : f32
// CHECK-NEXT:    attn.write @o[%i] = %r : f32
// CHECK-NEXT:    attn.write @l[%i] = %lse : f32
// CHECK-NEXT:  }
attn.kernel @not_shared {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %s = attn.read @s[%i, %j] : f32
  %v = attn.read @v[%j] : f32
  %seen = arith.cmpi slt, %j, %i : index
  %r = attn.softmax %s, %v over %j where %seen : f32
  %lse = attn.logsumexp %s over %j : f32
  attn.write @o[%i] = %r : f32
  attn.write @l[%i] = %lse : f32
}

// CHECK-LABEL: attn.kernel @scale {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %s = attn.read @s[%i, %j] : f32
// CHECK-NEXT:    %v = attn.read @v[%j] : f32
// CHECK-NEXT:    %z = attn.read @z[%i] : f32
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 1.44269502 : f32
// CHECK-NEXT:    %scale = arith.divf [[V0]], %z : f32
// CHECK-NEXT:    %scaled = arith.mulf %s, %scale : f32
// CHECK-NEXT:    %m, %l, [[V1:%\d+]] = attn.stream %scaled, (%v) over %j : f32, f32, (f32)
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    [[V3:%\d+]] = arith.cmpf oeq, %l, [[V2]] : f32
// CHECK-NEXT:    [[ONE4:%\d+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    [[SHARE4:%\d+]] = arith.divf [[ONE4]], %l : f32
// CHECK-NEXT:    [[V4:%\d+]] = arith.mulf [[V1]], [[SHARE4]] : f32
// CHECK-NEXT:    %r = arith.select [[V3]], [[V2]], [[V4]] : f32
// CHECK-NEXT:    attn.write @o[%i] = %r : f32
// CHECK-NEXT:  }
attn.kernel @scale {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %s = attn.read @s[%i, %j] : f32
  %v = attn.read @v[%j] : f32
  %z = attn.read @z[%i] : f32
  %scaled = arith.divf %s, %z : f32
  %r = attn.softmax %scaled, %v over %j : f32
  attn.write @o[%i] = %r : f32
}
