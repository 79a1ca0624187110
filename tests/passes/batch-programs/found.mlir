// RUN: attndsl opt %s --passes 'scan-keys,batch-programs{numbers=48}'

// Where keys begin and end that a sentence sees has been looked for, for each: the loop runs from the first to the last of
// all. What a product leaves out is no obstacle. In @splits a loop has the keys of a split alone, which no other may take.

spec.tensor @q "input" "f32" ["B", "M", "D"]
spec.tensor @k "input" "f32" ["B", "N", "D"]
spec.tensor @v "input" "f32" ["B", "N"]
spec.tensor @valid "input" "bool" ["B", "N"]
spec.tensor @o "output" "f32" ["B", "M"]
spec.tensor @p "output" "f32" ["B", "M"]
tile.kernel @sentences {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = tile.program "b" to %B step %one
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%b, %i, %d] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %seen = tile.load @valid[%b, %j] : i1
    tile.present %seen
    %k = tile.load @k[%b, %j, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %kept = arith.select %seen, %score, %none : f32
    %part = tile.sum %kept over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%b, %i] = %sum : f32
}
tile.kernel @splits {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = tile.program "b" to %B step %one
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%b, %i, %d] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %most = arith.minsi %b, %N : index
  %sum = tile.loop %j0 = %zero to %most step %size rows from %zero to %N iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %most size %size
    %k = tile.load @k[%b, %j, %d] : f32
    %score = tile.dot %q, %k over %d : f32
    %part = tile.sum %score over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @p[%b, %i] = %sum : f32
}

// CHECK:      tile.kernel @sentences
// CHECK:      %b0 = tile.program "b" to %B step %b_step
// CHECK-NEXT: %b = tile.range "b" from %b0 to %B size %b_step
// CHECK:      %seen_start, %seen_stop = tile.loop
// CHECK:      tile.load @valid[%b, %j]
// CHECK:      %start_1 = tile.min %seen_start over %b : index to index
// CHECK-NEXT: %stop_1 = tile.max %stop over %b : index to index
// CHECK-NEXT: %sum = tile.loop %j0_1 = %start_1 to %stop_1 step %size rows from %zero to %N
// CHECK-NEXT: %j_1 = tile.range "j" from %j0_1 to %stop_1 size %size
// CHECK:      tile.kernel @splits
// CHECK:      %b = tile.program "b" to %B step %one
