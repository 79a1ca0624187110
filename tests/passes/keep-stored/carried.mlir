// RUN: attndsl opt %s --passes keep-stored

// Pages that one turn of a loop reads for the next stay as memory holds them, before the loop and in it.

spec.tensor @x "input" "f32" ["N"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["N"]
tile.kernel @carries {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 16 : index
  %N = spec.dim "N"
  %i0 = tile.program "i" to %N step %size
  %i = tile.range "i" from %i0 to %N size %size
  %start = tile.broadcast %none over (%i) : f32 to f32
  %now = tile.range "now" from %zero to %size size %size
  %now_in = arith.cmpi slt, %now, %N : index
  %page = tile.load @table[%now] where %now_in : index
  %last, %sum = tile.loop %j0 = %zero to %N step %size iter_args(%at = %page, %a = %start) -> (index, f32) {
    %low = arith.cmpi sge, %at, %zero : index
    %high = arith.cmpi slt, %at, %N : index
    %in = arith.andi %low, %high : i1
    %x = tile.load @x[%at] where %in : f32
    %part = tile.sum %x over %now : f32 to f32
    %next = arith.addf %a, %part : f32
    %j1 = arith.addi %j0, %size : index
    %j_end = arith.addi %j1, %size : index
    %j = tile.range "j" from %j1 to %j_end size %size
    %j_in = arith.cmpi slt, %j, %N : index
    %ahead = tile.load @table[%j] where %j_in : index
    %turned = tile.rename_axis %ahead from %j to %now
    tile.yield %turned, %next : index, f32
  }
  tile.store @o[%i] = %sum : f32
}

// CHECK:      tile.rename_axis
// CHECK-NEXT: tile.kept %ahead : index
// CHECK:      tile.store
// CHECK-NEXT: tile.kept %page : index
