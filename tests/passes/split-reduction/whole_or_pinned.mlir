// RUN: attndsl opt %s --passes split-reduction
// What stays whole, and what is always split.

spec.tensor @s "input" "f32" ["M", "N"]
spec.tensor @n "input" "i32" ["M"]
spec.tensor @o "output" "f32" ["M"]

// No keys.
// CHECK-LABEL: attn.kernel @rows_only {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.row "i" to %M
// CHECK-NEXT:    %x = spec.to_float %i : f32
// CHECK-NEXT:    attn.write @o[%i] = %x : f32
// CHECK-NEXT:  }
attn.kernel @rows_only {
  %M = spec.dim "M"
  %i = attn.row "i" to %M
  %x = spec.to_float %i : f32
  attn.write @o[%i] = %x : f32
}

// The total rests on the maximum.
// CHECK-LABEL: attn.kernel @levels {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.row "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %x = attn.read @s[%i, %j] : f32
// CHECK-NEXT:    %m = attn.max %x over %j : f32
// CHECK-NEXT:    %y = arith.subf %x, %m : f32
// CHECK-NEXT:    %t = attn.total %y over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @levels {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @s[%i, %j] : f32
  %m = attn.max %x over %j : f32
  %y = arith.subf %x, %m : f32
  %t = attn.total %y over %j : f32
  attn.write @o[%i] = %t : f32
}

// Nothing that a launch knows bounds the keys.
// CHECK-LABEL: attn.kernel @unbounded {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.row "i" to %M
// CHECK-NEXT:    %stop = attn.read @n[%i] : index
// CHECK-NEXT:    %j = attn.over "j" to %stop
// CHECK-NEXT:    %at = spec.mod %j, %N
// CHECK-NEXT:    %x = attn.read @s[%i, %at] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @unbounded {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %stop = attn.read @n[%i] : index
  %j = attn.over "j" to %stop
  %at = spec.mod %j, %N
  %x = attn.read @s[%i, %at] : f32
  %t = attn.total %x over %j : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: attn.kernel @pinned_whole schedule {split_k = 1 : i64} {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.row "i" to %M
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %x = attn.read @s[%i, %j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @o[%i] = %t : f32
// CHECK-NEXT:  }
attn.kernel @pinned_whole schedule {split_k = 1 : i64} {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @s[%i, %j] : f32
  %t = attn.total %x over %j : f32
  attn.write @o[%i] = %t : f32
}

// CHECK: spec.tensor @pinned_sum "workspace" "f32" ["M", "4"]
// CHECK-LABEL: attn.kernel @pinned_split schedule {split_k = 4 : i64} {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i = attn.row "i" to %M
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:    %split = attn.grid "split" to [[V0]]
// CHECK-NEXT:    %j = attn.over "j" to %N split %split of [[V0]]
// CHECK-NEXT:    %x = attn.read @s[%i, %j] : f32
// CHECK-NEXT:    %t = attn.total %x over %j : f32
// CHECK-NEXT:    attn.write @pinned_sum[%i, %split] = %t : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @pinned {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.grid "i" to %M
// CHECK-NEXT:    [[V0:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:    %split = attn.over "split" to [[V0]]
// CHECK-NEXT:    %t = attn.read @pinned_sum[%i, %split] : f32
// CHECK-NEXT:    %t_1 = attn.total %t over %split : f32
// CHECK-NEXT:    attn.write @o[%i] = %t_1 : f32
attn.kernel @pinned schedule {split_k = 4 : i64} {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @s[%i, %j] : f32
  %t = attn.total %x over %j : f32
  attn.write @o[%i] = %t : f32
}
