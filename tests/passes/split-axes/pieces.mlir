// RUN: attndsl opt %s --passes split-axes,canonicalize,cse
// What varies along an axis that is cut is a value for each piece; what reduces over it joins the pieces.

spec.tensor @q "input" "f32" ["N", "96"]
spec.tensor @k "input" "f32" ["N", "56"]
spec.tensor @v "input" "f32" ["N", "72"]
spec.tensor @see "input" "bool" ["96"]
spec.tensor @wide "input" "f32" ["N", "576"]
spec.tensor @most "output" "f32" []
spec.tensor @o "output" "f32" ["M", "72"]
spec.tensor @p "output" "f32" ["N"]

// CHECK-LABEL: attn.kernel @an_output_along_an_axis {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c40 = arith.constant 40 : index
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 64 : index
// CHECK-NEXT:    %e = attn.axis "e_0" to [[V0]]
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 8 : index
// CHECK-NEXT:    %e_1 = attn.axis "e_64" to [[V1]]
// CHECK-NEXT:    %e_2 = arith.addi %e_1, [[V0]] : index
// CHECK-NEXT:    %v = attn.read @v[%j, %e] : f32
// CHECK-NEXT:    %v_1 = attn.read @v[%j, %e_2] : f32
// CHECK-NEXT:    %s = attn.softmax %v, %v over %j : f32
// CHECK-NEXT:    %s_1 = attn.softmax %v_1, %v_1 over %j : f32
// CHECK-NEXT:    %some = arith.cmpi ne, %e, %c40 : index
// CHECK-NEXT:    %some_1 = arith.cmpi ne, %e_2, %c40 : index
// CHECK-NEXT:    attn.write @o[%i, %e] = %s where %some : f32
// CHECK-NEXT:    attn.write @o[%i, %e_2] = %s_1 where %some_1 : f32
// CHECK-NEXT:  }
attn.kernel @an_output_along_an_axis {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %c72 = arith.constant 72 : index
  %c40 = arith.constant 40 : index
  %i = attn.each "i" to %M
  %j = attn.over "j" to %N
  %e = attn.axis "e" to %c72
  %v = attn.read @v[%j, %e] : f32
  %s = attn.softmax %v, %v over %j : f32
  %some = arith.cmpi ne, %e, %c40 : index
  attn.write @o[%i, %e] = %s where %some : f32
}

// CHECK-LABEL: attn.kernel @sums_and_conditions {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %j = attn.each "j" to %N
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 64 : index
// CHECK-NEXT:    %d = attn.axis "d_0" to [[V0]]
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 32 : index
// CHECK-NEXT:    %d_1 = attn.axis "d_64" to [[V1]]
// CHECK-NEXT:    %d_2 = arith.addi %d_1, [[V0]] : index
// CHECK-NEXT:    %see = attn.read @see[%d] : i1
// CHECK-NEXT:    %see_1 = attn.read @see[%d_2] : i1
// CHECK-NEXT:    [[V2:%\d+]] = attn.all %see over %d
// CHECK-NEXT:    [[V3:%\d+]] = attn.all %see_1 over %d_1
// CHECK-NEXT:    %all = arith.andi [[V2]], [[V3]] : i1
// CHECK-NEXT:    %q = attn.read @q[%j, %d] where %see : f32
// CHECK-NEXT:    %q_1 = attn.read @q[%j, %d_2] where %see_1 : f32
// CHECK-NEXT:    [[V4:%\d+]] = attn.sum %q over %d : f32
// CHECK-NEXT:    [[V5:%\d+]] = attn.sum %q_1 over %d_1 : f32
// CHECK-NEXT:    %s = arith.addf [[V4]], [[V5]] : f32
// CHECK-NEXT:    attn.write @p[%j] = %s where %all : f32
// CHECK-NEXT:  }
attn.kernel @sums_and_conditions {
  %N = spec.dim "N"
  %c96 = arith.constant 96 : index
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %c96
  %see = attn.read @see[%d] : i1
  %all = attn.all %see over %d
  %q = attn.read @q[%j, %d] where %see : f32
  %s = attn.sum %q over %d : f32
  attn.write @p[%j] = %s where %all : f32
}

// CHECK-LABEL: attn.kernel @padding_would_be_saved_by_none {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c56 = arith.constant 56 : index
// CHECK-NEXT:    %j = attn.each "j" to %N
// CHECK-NEXT:    %d = attn.axis "d" to %c56
// CHECK-NEXT:    %k = attn.read @k[%j, %d] : f32
// CHECK-NEXT:    %s = attn.sum %k over %d : f32
// CHECK-NEXT:    attn.write @p[%j] = %s : f32
// CHECK-NEXT:  }
attn.kernel @padding_would_be_saved_by_none {
  %N = spec.dim "N"
  %c56 = arith.constant 56 : index
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %c56
  %k = attn.read @k[%j, %d] : f32
  %s = attn.sum %k over %d : f32
  attn.write @p[%j] = %s : f32
}

// CHECK-LABEL: attn.kernel @extremes {
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %j = attn.each "j" to %N
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 64 : index
// CHECK-NEXT:    %d = attn.axis "d_0" to [[V0]]
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 32 : index
// CHECK-NEXT:    %d_1 = attn.axis "d_64" to [[V1]]
// CHECK-NEXT:    %d_2 = arith.addi %d_1, [[V0]] : index
// CHECK-NEXT:    %q = attn.read @q[%j, %d] : f32
// CHECK-NEXT:    %q_1 = attn.read @q[%j, %d_2] : f32
// CHECK-NEXT:    [[V2:%\d+]] = attn.axis_max %q over %d : f32
// CHECK-NEXT:    [[V3:%\d+]] = attn.axis_max %q_1 over %d_1 : f32
// CHECK-NEXT:    %m = arith.maximumf [[V2]], [[V3]] : f32
// CHECK-NEXT:    attn.write @p[%j] = %m : f32
// CHECK-NEXT:  }
attn.kernel @extremes {
  %N = spec.dim "N"
  %c96 = arith.constant 96 : index
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %c96
  %q = attn.read @q[%j, %d] : f32
  %m = attn.axis_max %q over %d : f32
  attn.write @p[%j] = %m : f32
}

// An axis of more than 256 is cut into pieces of so many, the widest product there is, where there are keys.

// CHECK-LABEL: attn.kernel @wide {
// CHECK:    %d = attn.axis "d_0" to
// CHECK:    %d_1 = attn.axis "d_256" to
// CHECK:    %d_2 = attn.axis "d_512" to
attn.kernel @wide {
  %N = spec.dim "N"
  %c576 = arith.constant 576 : index
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %c576
  %x = attn.read @wide[%j, %d] : f32
  %m = attn.axis_max %x over %d : f32
  %most = attn.max %m over %j : f32
  attn.write @most[] = %most : f32
}

// CHECK-LABEL: attn.kernel @wide_without_keys {
// CHECK:    %d = attn.axis "d_0" to
// CHECK:    %d_1 = attn.axis "d_512" to
attn.kernel @wide_without_keys {
  %N = spec.dim "N"
  %c576 = arith.constant 576 : index
  %j = attn.each "j" to %N
  %d = attn.axis "d" to %c576
  %x = attn.read @wide[%j, %d] : f32
  %m = attn.axis_max %x over %d : f32
  attn.write @p[%j] = %m : f32
}
