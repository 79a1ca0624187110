// RUN: attndsl opt %s --passes canonicalize
// Conditions that are settled go, and selects between conditions are logic.

spec.tensor @x "input" "f32" ["M"]
spec.tensor @p "input" "bool" ["M"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: attn.kernel @logic {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %p = attn.read @p[%i] : i1
// CHECK-NEXT:    %one = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    attn.write @o[%i] = %one where %p : f32
// CHECK-NEXT:  }
attn.kernel @logic {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %true = arith.constant true
  %false = arith.constant false
  %p = attn.read @p[%i] : i1
  %a = arith.andi %p, %true : i1
  %b = arith.ori %false, %a : i1
  %c = arith.andi %b, %b : i1
  %d = arith.xori %c, %true : i1
  %e = arith.xori %d, %true : i1
  %f = arith.xori %e, %false : i1
  %one = arith.constant 1.0 : f32
  attn.write @o[%i] = %one where %f : f32
}

// CHECK-LABEL: attn.kernel @logic_decided {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %x = attn.read @x[%i] : f32
// CHECK-NEXT:    %y = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %sum = arith.addf %x, %y : f32
// CHECK-NEXT:    attn.write @o[%i] = %sum : f32
// CHECK-NEXT:  }
attn.kernel @logic_decided {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %true = arith.constant true
  %false = arith.constant false
  %p = attn.read @p[%i] : i1
  %never = arith.andi %p, %false : i1
  %always = arith.ori %p, %true : i1
  %x = attn.read @x[%i] where %always : f32
  %y = attn.read @x[%i] where %never : f32
  %sum = arith.addf %x, %y : f32
  attn.write @o[%i] = %sum : f32
}

// CHECK-LABEL: attn.kernel @selects {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %x = attn.read @x[%i] : f32
// CHECK-NEXT:    attn.write @o[%i] = %x : f32
// CHECK-NEXT:  }
attn.kernel @selects {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %true = arith.constant true
  %p = attn.read @p[%i] : i1
  %x = attn.read @x[%i] : f32
  %zero = arith.constant 0.0 : f32
  %a = arith.select %true, %x, %zero : f32
  %b = arith.select %p, %a, %a : f32
  attn.write @o[%i] = %b : f32
}

// CHECK-LABEL: attn.kernel @selects_between_conditions {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %p = attn.read @p[%i] : i1
// CHECK-NEXT:    %x = attn.read @x[%i] : f32
// CHECK-NEXT:    %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %q = arith.cmpf olt, %x, %zero : f32
// CHECK-NEXT:    %both = arith.andi %p, %q : i1
// CHECK-NEXT:    %either = arith.ori %p, %q : i1
// CHECK-NEXT:    %implied = arith.constant true
// CHECK-NEXT:    %implied_1 = arith.xori %p, %implied : i1
// CHECK-NEXT:    %implied_2 = arith.ori %implied_1, %q : i1
// CHECK-NEXT:    %without = arith.constant true
// CHECK-NEXT:    %without_1 = arith.xori %p, %without : i1
// CHECK-NEXT:    %without_2 = arith.andi %without_1, %q : i1
// CHECK-NEXT:    %y = attn.read @x[%i] where %both : f32
// CHECK-NEXT:    %z = attn.read @x[%i] where %either : f32
// CHECK-NEXT:    %u = attn.read @x[%i] where %implied_2 : f32
// CHECK-NEXT:    %a = arith.addf %y, %z : f32
// CHECK-NEXT:    %b = arith.addf %a, %u : f32
// CHECK-NEXT:    attn.write @o[%i] = %b where %without_2 : f32
// CHECK-NEXT:  }
attn.kernel @selects_between_conditions {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %true = arith.constant true
  %false = arith.constant false
  %p = attn.read @p[%i] : i1
  %x = attn.read @x[%i] : f32
  %zero = arith.constant 0.0 : f32
  %q = arith.cmpf olt, %x, %zero : f32
  %both = arith.select %p, %q, %false : i1
  %either = arith.select %p, %true, %q : i1
  %implied = arith.select %p, %q, %true : i1
  %without = arith.select %p, %false, %q : i1
  %y = attn.read @x[%i] where %both : f32
  %z = attn.read @x[%i] where %either : f32
  %u = attn.read @x[%i] where %implied : f32
  %a = arith.addf %y, %z : f32
  %b = arith.addf %a, %u : f32
  attn.write @o[%i] = %b where %without : f32
}

// CHECK-LABEL: attn.kernel @all {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %i = attn.each "i" to %M
// CHECK-NEXT:    %p = attn.read @p[%i] : i1
// CHECK-NEXT:    %uniform = arith.constant 0 : index
// CHECK-NEXT:    %uniform_1 = arith.cmpi sle, %M, %uniform : index
// CHECK-NEXT:    %uniform_2 = arith.ori %p, %uniform_1 : i1
// CHECK-NEXT:    %x = attn.read @x[%i] : f32
// CHECK-NEXT:    attn.write @o[%i] = %x where %uniform_2 : f32
// CHECK-NEXT:  }
attn.kernel @all {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %d = attn.axis "d" to %M
  %true = arith.constant true
  %p = attn.read @p[%i] : i1
  %always = attn.all %true over %d
  %uniform = attn.all %p over %d
  %x = attn.read @x[%i] where %always : f32
  attn.write @o[%i] = %x where %uniform : f32
}
