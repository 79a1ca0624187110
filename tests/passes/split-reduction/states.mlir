// RUN: attndsl opt %s --passes split-reduction
// Every state of every reduction has a workspace, as large as a launch can know that it gets; merging is the same monoid.

spec.tensor @s "input" "f32" ["B", "M", "N"]
spec.tensor @v "input" "f32" ["N", "E"]
spec.tensor @n "input" "i32" ["B"]
spec.tensor @o "output" "f32" ["B", "M", "E"]
spec.tensor @lse "output" "f32" ["B", "M"]
spec.tensor @top "output" "f32" ["B", "H"]

// CHECK: spec.tensor @several_m "workspace" "f32" ["B", "M", "choice(SPLITS)"]
// CHECK-NEXT: spec.tensor @several_l "workspace" "f32" ["B", "M", "choice(SPLITS)"]
// CHECK-NEXT: spec.tensor @several_acc "workspace" "f32" ["B", "M", "choice(SPLITS)", "E"]
// CHECK-NEXT: spec.tensor @several_m_1 "workspace" "f32" ["B", "M", "choice(SPLITS)"]
// CHECK-NEXT: spec.tensor @several_l_1 "workspace" "f32" ["B", "M", "choice(SPLITS)"]
// CHECK-NEXT: spec.tensor @several_acc_1 "workspace" "f32" ["B", "M", "choice(SPLITS)", "E"]
// CHECK-NEXT: spec.tensor @several_acc_2 "workspace" "f32" ["B", "M", "choice(SPLITS)"]
// CHECK-NEXT: spec.tensor @several_sum "workspace" "f32" ["choice(SPLITS)", "E"]
// CHECK-LABEL: attn.kernel @several form "whole" schedule {tile_rows = 4 : i64} {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %n = attn.read @n[%b] : index
// CHECK-NEXT:    %rows = arith.minsi %n, %M : index
// CHECK-NEXT:    %i = attn.row "i" to %rows up to %M
// CHECK-NEXT:    %j = attn.over "split" to %N
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %x = attn.read @s[%b, %i, %j] : f32
// CHECK-NEXT:    %y = attn.read @v[%j, %e] : f32
// CHECK-NEXT:    %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %seen = arith.cmpf ogt, %x, %zero : f32
// CHECK-NEXT:    %m, %l, %a = attn.stream natural %x, (%y) over %j where %seen : f32, f32, (f32)
// CHECK-NEXT:    %z = arith.negf %x : f32
// CHECK-NEXT:    %m2, %l2, %a2, %c2 = attn.stream natural %z, (%y, %x) over %j : f32, f32, (f32, f32)
// CHECK-NEXT:    %t = attn.total %y over %j : f32
// CHECK-NEXT:    %q = attn.sum %t over %e : f32
// CHECK-NEXT:    %empty = arith.cmpf oeq, %l, %zero : f32
// CHECK-NEXT:    %mean = arith.divf %a, %l : f32
// CHECK-NEXT:    %r = arith.select %empty, %zero, %mean : f32
// CHECK-NEXT:    %mean2 = arith.divf %a2, %l2 : f32
// CHECK-NEXT:    %d = arith.subf %r, %mean2 : f32
// CHECK-NEXT:    %log = math.log %l2 : f32
// CHECK-NEXT:    %w = arith.addf %m2, %log : f32
// CHECK-NEXT:    %w1 = arith.addf %w, %q : f32
// CHECK-NEXT:    attn.write @o[%b, %i, %e] = %d : f32
// CHECK-NEXT:    attn.write @lse[%b, %i] = %w1 : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @several_split form "split" schedule {tile_rows = 4 : i64} {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %n = attn.read @n[%b] : index
// CHECK-NEXT:    %rows = arith.minsi %n, %M : index
// CHECK-NEXT:    %i = attn.row "i" to %rows up to %M
// CHECK-NEXT:    %SPLITS = spec.choice "SPLITS" up to %N
// CHECK-NEXT:    %split = attn.grid "split_1" to %SPLITS
// CHECK-NEXT:    %j = attn.over "split" to %N split %split of %SPLITS
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %x = attn.read @s[%b, %i, %j] : f32
// CHECK-NEXT:    %y = attn.read @v[%j, %e] : f32
// CHECK-NEXT:    %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %seen = arith.cmpf ogt, %x, %zero : f32
// CHECK-NEXT:    %m, %l, %a = attn.stream natural %x, (%y) over %j where %seen : f32, f32, (f32)
// CHECK-NEXT:    %z = arith.negf %x : f32
// CHECK-NEXT:    %m2, %l2, %a2, %c2 = attn.stream natural %z, (%y, %x) over %j : f32, f32, (f32, f32)
// CHECK-NEXT:    %t = attn.total %y over %j : f32
// CHECK-NEXT:    attn.write @several_m[%b, %i, %split] = %m : f32
// CHECK-NEXT:    attn.write @several_l[%b, %i, %split] = %l : f32
// CHECK-NEXT:    attn.write @several_acc[%b, %i, %split, %e] = %a : f32
// CHECK-NEXT:    attn.write @several_m_1[%b, %i, %split] = %m2 : f32
// CHECK-NEXT:    attn.write @several_l_1[%b, %i, %split] = %l2 : f32
// CHECK-NEXT:    attn.write @several_acc_1[%b, %i, %split, %e] = %a2 : f32
// CHECK-NEXT:    attn.write @several_acc_2[%b, %i, %split] = %c2 : f32
// CHECK-NEXT:    attn.write @several_sum[%split, %e] = %t : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @several_merge form "split" {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %n = attn.read @n[%b] : index
// CHECK-NEXT:    %rows = arith.minsi %n, %M : index
// CHECK-NEXT:    %i = attn.grid "i" to %rows up to %M
// CHECK-NEXT:    %SPLITS = spec.choice "SPLITS" up to %N
// CHECK-NEXT:    %split = attn.over "split_1" to %SPLITS
// CHECK-NEXT:    %e = attn.axis "e" to %E
// CHECK-NEXT:    %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %m = attn.read @several_m[%b, %i, %split] : f32
// CHECK-NEXT:    %l = attn.read @several_l[%b, %i, %split] : f32
// CHECK-NEXT:    %a = attn.read @several_acc[%b, %i, %split, %e] : f32
// CHECK-NEXT:    %m_1, [[V0:%\w+]], %l_1, %a_1 = attn.stream natural %m, (%l, %a) over %split : f32, f32, (f32, f32)
// CHECK-NEXT:    %m2 = attn.read @several_m_1[%b, %i, %split] : f32
// CHECK-NEXT:    %l2 = attn.read @several_l_1[%b, %i, %split] : f32
// CHECK-NEXT:    %a2 = attn.read @several_acc_1[%b, %i, %split, %e] : f32
// CHECK-NEXT:    %c2 = attn.read @several_acc_2[%b, %i, %split] : f32
// CHECK-NEXT:    %m2_1, [[V1:%\w+]], %l2_1, %a2_1, %c2_1 = attn.stream natural %m2, (%l2, %a2, %c2) over %split : f32, f32, (f32, f32, f32)
// CHECK-NEXT:    %t = attn.read @several_sum[%split, %e] : f32
// CHECK-NEXT:    %t_1 = attn.total %t over %split : f32
// CHECK-NEXT:    %q = attn.sum %t_1 over %e : f32
// CHECK-NEXT:    %empty = arith.cmpf oeq, %l_1, %zero : f32
// CHECK-NEXT:    %mean = arith.divf %a_1, %l_1 : f32
// CHECK-NEXT:    %r = arith.select %empty, %zero, %mean : f32
// CHECK-NEXT:    %mean2 = arith.divf %a2_1, %l2_1 : f32
// CHECK-NEXT:    %d = arith.subf %r, %mean2 : f32
// CHECK-NEXT:    %log = math.log %l2_1 : f32
// CHECK-NEXT:    %w = arith.addf %m2_1, %log : f32
// CHECK-NEXT:    %w1 = arith.addf %w, %q : f32
// CHECK-NEXT:    attn.write @o[%b, %i, %e] = %d : f32
// CHECK-NEXT:    attn.write @lse[%b, %i] = %w1 : f32
// CHECK-NEXT:  }
attn.kernel @several schedule {tile_rows = 4 : i64} {
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %b = attn.grid "b" to %B
  %n = attn.read @n[%b] : index
  %rows = arith.minsi %n, %M : index
  %i = attn.row "i" to %rows up to %M
  %j = attn.over "split" to %N
  %e = attn.axis "e" to %E
  %x = attn.read @s[%b, %i, %j] : f32
  %y = attn.read @v[%j, %e] : f32
  %zero = arith.constant 0.0 : f32
  %seen = arith.cmpf ogt, %x, %zero : f32
  %m, %l, %a = attn.stream natural %x, (%y) over %j where %seen : f32, f32, (f32)
  %z = arith.negf %x : f32
  %m2, %l2, %a2, %c2 = attn.stream natural %z, (%y, %x) over %j : f32, f32, (f32, f32)
  %t = attn.total %y over %j : f32
  %q = attn.sum %t over %e : f32
  %empty = arith.cmpf oeq, %l, %zero : f32
  %mean = arith.divf %a, %l : f32
  %r = arith.select %empty, %zero, %mean : f32
  %mean2 = arith.divf %a2, %l2 : f32
  %d = arith.subf %r, %mean2 : f32
  %log = math.log %l2 : f32
  %w = arith.addf %m2, %log : f32
  %w1 = arith.addf %w, %q : f32
  attn.write @o[%b, %i, %e] = %d : f32
  attn.write @lse[%b, %i] = %w1 : f32
}

// Rows whose number depends on a program, as where a variable is split: the quotient times the group may pass the end.
// CHECK: spec.tensor @groups_max "workspace" "f32" ["B", "max(0, H - 3)", "choice(SPLITS)"]
// CHECK-LABEL: attn.kernel @groups form "whole" {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %fewer = arith.subi %H, %c3 : index
// CHECK-NEXT:    %g = attn.grid "g" to %c3
// CHECK-NEXT:    %first = arith.muli %g, %M : index
// CHECK-NEXT:    %left = arith.subi %H, %first : index
// CHECK-NEXT:    %size = arith.minsi %fewer, %left : index
// CHECK-NEXT:    %h = attn.row "h" to %size
// CHECK-NEXT:    %j = attn.over "j" to %N
// CHECK-NEXT:    %x = attn.read @s[%b, %h, %j] : f32
// CHECK-NEXT:    %t = attn.max %x over %j : f32
// CHECK-NEXT:    %at = arith.addi %first, %h : index
// CHECK-NEXT:    attn.write @top[%b, %at] = %t : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @groups_split form "split" {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %fewer = arith.subi %H, %c3 : index
// CHECK-NEXT:    %g = attn.grid "g" to %c3
// CHECK-NEXT:    %first = arith.muli %g, %M : index
// CHECK-NEXT:    %left = arith.subi %H, %first : index
// CHECK-NEXT:    %size = arith.minsi %fewer, %left : index
// CHECK-NEXT:    %h = attn.row "h" to %size
// CHECK-NEXT:    %SPLITS = spec.choice "SPLITS" up to %N
// CHECK-NEXT:    %split = attn.grid "split" to %SPLITS
// CHECK-NEXT:    %j = attn.over "j" to %N split %split of %SPLITS
// CHECK-NEXT:    %x = attn.read @s[%b, %h, %j] : f32
// CHECK-NEXT:    %t = attn.max %x over %j : f32
// CHECK-NEXT:    attn.write @groups_max[%b, %h, %split] = %t : f32
// CHECK-NEXT:  }
// CHECK-LABEL: attn.kernel @groups_merge form "split" {
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %b = attn.grid "b" to %B
// CHECK-NEXT:    %fewer = arith.subi %H, %c3 : index
// CHECK-NEXT:    %g = attn.grid "g" to %c3
// CHECK-NEXT:    %first = arith.muli %g, %M : index
// CHECK-NEXT:    %left = arith.subi %H, %first : index
// CHECK-NEXT:    %size = arith.minsi %fewer, %left : index
// CHECK-NEXT:    %h = attn.grid "h" to %size up to %fewer
// CHECK-NEXT:    %SPLITS = spec.choice "SPLITS" up to %N
// CHECK-NEXT:    %split = attn.over "split" to %SPLITS
// CHECK-NEXT:    %t = attn.read @groups_max[%b, %h, %split] : f32
// CHECK-NEXT:    %t_1 = attn.max %t over %split : f32
// CHECK-NEXT:    %at = arith.addi %first, %h : index
// CHECK-NEXT:    attn.write @top[%b, %at] = %t_1 : f32
attn.kernel @groups {
  %B = spec.dim "B"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %c3 = arith.constant 3 : index
  %b = attn.grid "b" to %B
  %fewer = arith.subi %H, %c3 : index
  %g = attn.grid "g" to %c3
  %first = arith.muli %g, %M : index
  %left = arith.subi %H, %first : index
  %size = arith.minsi %fewer, %left : index
  %h = attn.row "h" to %size
  %j = attn.over "j" to %N
  %x = attn.read @s[%b, %h, %j] : f32
  %t = attn.max %x over %j : f32
  %at = arith.addi %first, %h : index
  attn.write @top[%b, %at] = %t : f32
}
