// RUN: attndsl opt %s --passes batch-programs

// In @shared a table, the same for all heads, says which row a key lies in, and whether there is one: what heads read is
// a slice, under one condition. In @own each head has a table of its own.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @k "input" "f32" ["P", "H", "D"]
spec.tensor @table "input" "u32" ["N"]
spec.tensor @tables "input" "u32" ["H", "N"]
spec.tensor @o "output" "f32" ["H", "M"]
spec.tensor @p "output" "f32" ["H", "M"]
tile.kernel @shared {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %P = spec.dim "P"
  %D = spec.dim "D"
  %h = tile.program "h" to %H step %one
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %row = tile.load @table[%j] : index
    %seen = arith.cmpi slt, %row, %P : index
    %k = tile.load @k[%row, %h, %d] where %seen : f32
    %score = tile.dot %q, %k over %d : f32
    %part = tile.sum %score over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @o[%h, %i] = %sum : f32
}
tile.kernel @own {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %P = spec.dim "P"
  %D = spec.dim "D"
  %h = tile.program "h" to %H step %one
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %start = tile.broadcast %none over (%i) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %size
    %row = tile.load @tables[%h, %j] : index
    %seen = arith.cmpi slt, %row, %P : index
    %k = tile.load @k[%row, %h, %d] where %seen : f32
    %score = tile.dot %q, %k over %d : f32
    %part = tile.sum %score over %j : f32 to f32
    %next = arith.addf %a, %part : f32
    tile.yield %next : f32
  }
  tile.store @p[%h, %i] = %sum : f32
}

// CHECK:      tile.kernel @shared {
// CHECK:      %h = tile.range "h" from %h0 to %H
// CHECK:      tile.loop
// CHECK:      tile.load @k[%row, %h, %d] where %seen : f32
// CHECK:      tile.kernel @own {
// CHECK:      %h = tile.program "h" to %H step %one
