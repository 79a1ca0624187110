// RUN: attndsl opt %s --passes fold-extremes

spec.tensor @n "input" "i32" ["M"]
spec.tensor @x "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]

// What grows from row to row is largest in the last row and least in the first; what falls, the other way round. The
// last row of a tile may be the last of all.
// CHECK-LABEL: tile.kernel @both
// CHECK: [[BEYOND:%\d+]] = arith.addi %i0, %rows : index
// CHECK-NEXT: [[WITHIN:%\d+]] = arith.minsi [[BEYOND]], %M : index
// CHECK-NEXT: [[BEFORE:%\d+]] = arith.subi [[WITHIN]], {{%\d+}} : index
// CHECK-NEXT: %last = arith.maxsi [[BEFORE]], %i0 : index
// CHECK-NEXT: [[HEAD:%\d+]] = arith.floordivsi %last, %N : index
// CHECK-NEXT: %stop = arith.addi [[HEAD]], %M : index
// CHECK: %start = arith.subi %M, %last{{.*}} : index
// CHECK: [[FIRST:%\d+]] = arith.floordivsi %i0, %N : index
// CHECK-NEXT: %least = arith.addi [[FIRST]], %M : index
// CHECK-NOT: tile.max
// CHECK-NOT: tile.min
tile.kernel @both {
  %rows = spec.choice "ROWS"
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %head = arith.floordivsi %i, %N : index
  %grows = arith.addi %head, %M : index
  %falls = arith.subi %M, %i : index
  %stop = tile.max %grows over %i : index to index
  %start = tile.min %falls over %i : index to index
  %least = tile.min %grows over %i : index to index
  %end = arith.minsi %stop, %least : index
  %t0 = tile.broadcast %none over (%i) : f32 to f32
  %t = tile.loop %j = %start to %end step %one iter_args(%s = %t0) -> (f32) {
    %v = tile.load @x[%j] : f32
    %s1 = arith.addf %s, %v : f32
    tile.yield %s1 : f32
  }
  tile.store @o[%i] = %t : f32
}

// Data may do anything from row to row, and so may what grows in one place and falls in another.
// CHECK-LABEL: tile.kernel @neither
// CHECK: tile.max %n over %i
// CHECK: tile.max %bend over %i
tile.kernel @neither {
  %rows = spec.choice "ROWS"
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %n = tile.load @n[%i] : index
  %falls = arith.subi %M, %i : index
  %bend = arith.minsi %i, %falls : index
  %start = tile.max %n over %i : index to index
  %end = tile.max %bend over %i : index to index
  %t0 = tile.broadcast %none over (%i) : f32 to f32
  %t = tile.loop %j = %start to %end step %one iter_args(%s = %t0) -> (f32) {
    %v = tile.load @x[%j] : f32
    %s1 = arith.addf %s, %v : f32
    tile.yield %s1 : f32
  }
  tile.store @o[%i] = %t : f32
}

// What leaves 64 bits in some row comes back from the other end.
// CHECK-LABEL: tile.kernel @wraps
// CHECK: tile.max %far over %i
spec.parameter @w index = 2 : index
tile.kernel @wraps {
  %rows = spec.choice "ROWS"
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %w = spec.param "w" : index
  %square = arith.muli %w, %w : index
  %far = arith.addi %i, %square : index
  %end = tile.max %far over %i : index to index
  %stop = arith.minsi %end, %M : index
  %t0 = tile.broadcast %none over (%i) : f32 to f32
  %t = tile.loop %j = %zero to %stop step %one iter_args(%s = %t0) -> (f32) {
    %v = tile.load @x[%j] : f32
    %s1 = arith.addf %s, %v : f32
    tile.yield %s1 : f32
  }
  tile.store @o[%i] = %t : f32
}

// A row that reads nothing ends at once: its end is one of two numbers, and the least of several. None is larger than the
// least of what each of these is at most, which does for a loop that knows where rows end.
// CHECK-LABEL: tile.kernel @steps
// CHECK-NOT: tile.max
// CHECK: [[FIRST:%\w+]] = arith.select {{%\d+}}, %M, %zero : index
// CHECK: [[LAST:%\w+]] = arith.select {{%\d+}}, %M, %zero : index
// CHECK-NEXT: [[STEP:%\d+]] = arith.maxsi [[FIRST]], [[LAST]] : index
// CHECK: %stop = arith.minsi {{%\d+}}, [[STEP]] : index
// CHECK-NOT: tile.min
tile.kernel @steps {
  %rows = spec.choice "ROWS"
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %past = arith.addi %i, %one : index
  %causal = arith.minsi %past, %N : index
  %is_read = arith.cmpi slt, %i, %N : index
  %read = arith.select %is_read, %M, %zero : index
  %row_stop = arith.minsi %causal, %read : index
  %stop = tile.max %row_stop over %i : index to index
  %least = tile.min %row_stop over %i : index to index
  %from = arith.maxsi %least, %zero : index
  %low = arith.minsi %from, %zero : index
  %t0 = tile.broadcast %none over (%i) : f32 to f32
  %t = tile.loop %j = %low to %stop step %one rows from %low to %row_stop iter_args(%s = %t0) -> (f32) {
    %seen = arith.cmpi sgt, %row_stop, %j : index
    %v = tile.load @x[%j] : f32
    %w = arith.select %seen, %v, %none : f32
    %s1 = arith.addf %s, %w : f32
    tile.yield %s1 : f32
  }
  tile.store @o[%i] = %t : f32
}
