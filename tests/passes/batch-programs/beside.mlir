// RUN: attndsl opt %s --passes 'batch-programs{numbers=48 streamed=2}'

// Of heads that lie beside each other behind each key scores alone count, where keys are read where they lie, as those that
// a table places are for up to two rows: they count as those of others where rows are more. Of a projection of up to two
// rows its results count, not its weights.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @k "input" "f32" ["N", "H", "D"]
spec.tensor @w "input" "f32" ["H", "D", "R"]
spec.tensor @p "output" "f32" ["H", "M", "R"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["H", "M"]

// CHECK-LABEL: tile.kernel @lying
// CHECK:         %scores = arith.maxsi
// CHECK-NEXT:    %[[room:\S+]] = arith.constant 48 : index
// CHECK-NEXT:    arith.floordivsi %[[room]], %scores
// CHECK-NEXT:    %[[least:\S+]] = arith.constant 12 : index
// CHECK-NEXT:    arith.floordivsi %[[least]], %numbers
// CHECK:         %h0 = tile.program "h" to %H{{\S*}} step %h_step
tile.kernel @lying {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %h = tile.program "h" to %H step %one
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %k = tile.load @k[%j, %h, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %part = tile.sum %score over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%h, %i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @placed
// CHECK:         %[[many:\S+]] = arith.constant 3 : index
// CHECK-NEXT:    %[[often:\S+]] = arith.floordivsi %i_size, %[[many]] : index
// CHECK-NEXT:    %[[one:\S+]] = arith.constant 1 : index
// CHECK-NEXT:    %[[more:\S+]] = arith.minsi %[[often]], %[[one]] : index
// CHECK:         %[[copies:\S+]] = arith.muli %{{\S+}}, %[[more]] : index
// CHECK-NEXT:    %[[held:\S+]] = arith.maxsi %i_size, %[[copies]] : index
// CHECK:         %scores = arith.maxsi
// CHECK-NEXT:    %[[room:\S+]] = arith.constant 48 : index
// CHECK-NEXT:    arith.floordivsi %[[room]], %scores
// CHECK-NEXT:    %[[least:\S+]] = arith.constant 12 : index
// CHECK-NEXT:    arith.floordivsi %[[least]], %numbers
// CHECK:         %h0 = tile.program "h" to %H{{\S*}} step %h_step
tile.kernel @placed {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %h = tile.program "h" to %H step %one
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %entry = tile.load @table[%j] : index
    %place = spec.mod %entry, %N
    %k = tile.load @k[%place, %h, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %part = tile.sum %score over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%h, %i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @projecting
// CHECK:         %[[many:\S+]] = arith.constant 3 : index
// CHECK-NEXT:    %[[often:\S+]] = arith.floordivsi %i_size, %[[many]] : index
// CHECK-NEXT:    %[[one:\S+]] = arith.constant 1 : index
// CHECK-NEXT:    %[[more:\S+]] = arith.minsi %[[often]], %[[one]] : index
// CHECK:         %[[weights:\S+]] = arith.muli %{{\S+}}, %[[more]] : index
// CHECK-NEXT:    %[[held:\S+]] = arith.maxsi %i_size, %[[weights]] : index
// CHECK-NEXT:    arith.muli %D{{\S*}}, %[[held]] : index
// CHECK:         %scores = arith.maxsi
tile.kernel @projecting {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %size = arith.constant 4 : index
  %H = spec.dim "H"
  %M = spec.dim "M"
  %D = spec.dim "D"
  %R = spec.dim "R"
  %h = tile.program "h" to %H step %one
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %r = tile.range "r" from %zero to %R size %R
  %q = tile.load @q[%h, %i, %d] : f32
  %w = tile.load @w[%h, %d, %r] : f32
  %sum = tile.dot %q, %w over %d : f32
  tile.store @p[%h, %i, %r] = %sum : f32
}
