// RUN: attndsl opt %s --passes 'tile{rows=4 keys=8 fixed=true},canonicalize,cse,scan-keys{chunk=16},canonicalize,cse'
// What a row is compared with is taken of the row that asks least, and for what holds for all rows of the one that asks
// most; whole tiles begin where one of them did.

spec.tensor @x "input" "f32" ["N"]
spec.tensor @row "input" "i32" ["M"]
spec.tensor @key "input" "i32" ["N"]
spec.tensor @valid "input" "bool" ["N"]
spec.tensor @both "input" "bool" ["M", "N"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: tile.kernel @equal_and_valid {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program descending "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %one = arith.constant 1 : index
// CHECK-NEXT:    %end = arith.addi %i, %one : index
// CHECK-NEXT:    %stop = arith.minsi %N, %end : index
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 0 : index
// CHECK-NEXT:    %stop_1 = tile.max %stop over %i : index to index
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 8 : index
// CHECK-NEXT:    [[V3:%\d+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:    %t = tile.broadcast [[V3]] over(%i) : f32 to f32
// CHECK-NEXT:    %r = tile.load @row[%i] : index
// CHECK-NEXT:    %least = tile.min %r over %i : index to index
// CHECK-NEXT:    %most = tile.max %r over %i : index to index
// CHECK-NEXT:    [[V4:%\d+]] = arith.constant 16 : index
// CHECK-NEXT:    [[V5:%\d+]] = tile.broadcast %stop_1 over() : index to index
// CHECK-NEXT:    [[V6:%\d+]] = tile.broadcast [[V1]] over() : index to index
// CHECK-NEXT:    %seen_start, %seen_stop, %held_start, %held_stop = tile.loop %j0 = [[V1]] to %stop_1 step [[V4]] iter_args([[V7:%\d+]] = [[V5]], [[V8:%\d+]] = [[V6]], [[V9:%\d+]] = [[V5]], [[V10:%\d+]] = [[V5]]) -> (index, index, index, index) {
// CHECK-NEXT:      %j = tile.range "j" from %j0 to %stop_1 size [[V4]]
// CHECK-NEXT:      %c = tile.load @key[%j] : index
// CHECK-NEXT:      %valid = tile.load @valid[%j] : i1
// CHECK-NEXT:      [[V11:%\d+]] = arith.cmpi sle, %least, %c : index
// CHECK-NEXT:      [[V12:%\d+]] = arith.cmpi sge, %most, %c : index
// CHECK-NEXT:      [[V13:%\d+]] = arith.andi [[V11]], [[V12]] : i1
// CHECK-NEXT:      [[V14:%\d+]] = arith.andi [[V13]], %valid : i1
// CHECK-NEXT:      [[V15:%\d+]] = arith.cmpi sle, %most, %c : index
// CHECK-NEXT:      [[V16:%\d+]] = arith.cmpi sge, %least, %c : index
// CHECK-NEXT:      [[V17:%\d+]] = arith.andi [[V15]], [[V16]] : i1
// CHECK-NEXT:      [[V18:%\d+]] = arith.andi [[V17]], %valid : i1
// CHECK-NEXT:      [[V19:%\d+]] = arith.select [[V14]], %j, %stop_1 : index
// CHECK-NEXT:      [[V20:%\d+]] = tile.min [[V19]] over %j : index to index
// CHECK-NEXT:      [[V21:%\d+]] = arith.minsi [[V7]], [[V20]] : index
// CHECK-NEXT:      [[V22:%\d+]] = arith.addi %j, %one : index
// CHECK-NEXT:      [[V23:%\d+]] = arith.select [[V14]], [[V22]], [[V1]] : index
// CHECK-NEXT:      [[V24:%\d+]] = tile.max [[V23]] over %j : index to index
// CHECK-NEXT:      [[V25:%\d+]] = arith.maxsi [[V8]], [[V24]] : index
// CHECK-NEXT:      [[V26:%\d+]] = arith.select [[V18]], %j, %stop_1 : index
// CHECK-NEXT:      [[V27:%\d+]] = tile.min [[V26]] over %j : index to index
// CHECK-NEXT:      [[V28:%\d+]] = arith.minsi [[V9]], [[V27]] : index
// CHECK-NEXT:      [[V29:%\d+]] = arith.cmpi slt, %j, [[V28]] : index
// CHECK-NEXT:      [[V30:%\d+]] = arith.ori [[V18]], [[V29]] : i1
// CHECK-NEXT:      [[V31:%\d+]] = arith.select [[V30]], %stop_1, %j : index
// CHECK-NEXT:      [[V32:%\d+]] = tile.min [[V31]] over %j : index to index
// CHECK-NEXT:      [[V33:%\d+]] = arith.minsi [[V10]], [[V32]] : index
// CHECK-NEXT:      tile.yield [[V21]], [[V25]], [[V28]], [[V33]] : index, index, index, index
// CHECK-NEXT:    }
// CHECK-NEXT:    [[V34:%\d+]] = arith.maxsi %seen_start, [[V1]] : index
// CHECK-NEXT:    [[V35:%\d+]] = arith.floordivsi [[V34]], [[V2]] : index
// CHECK-NEXT:    %start = arith.muli [[V35]], [[V2]] : index
// CHECK-NEXT:    %stop_2 = arith.minsi %stop_1, %seen_stop : index
// CHECK-NEXT:    %t_1 = tile.loop %j0_1 = %start to %stop_2 step [[V2]] rows from [[V1]] to %stop iter_args(%t_2 = %t) -> (f32) {
// CHECK-NEXT:      %j_end = arith.addi %j0_1, [[V2]] : index
// CHECK-NEXT:      %j_1 = tile.range "j" from %j0_1 to %j_end size [[V2]]
// CHECK-NEXT:      %seen = arith.cmpi sgt, %stop, %j_1 : index
// CHECK-NEXT:      %j_in = arith.cmpi sgt, %stop_1, %j_1 : index
// CHECK-NEXT:      %x = tile.load @x[%j_1] where %j_in : f32
// CHECK-NEXT:      %c_1 = tile.load @key[%j_1] where %j_in : index
// CHECK-NEXT:      %same = arith.cmpi eq, %r, %c_1 : index
// CHECK-NEXT:      %valid_1 = tile.load @valid[%j_1] where %j_in : i1
// CHECK-NEXT:      [[V36:%\d+]] = arith.andi %same, %valid_1 : i1
// CHECK-NEXT:      [[V37:%\d+]] = arith.andi [[V36]], %seen : i1
// CHECK-NEXT:      %x_1 = arith.select [[V37]], %x, [[V3]] : f32
// CHECK-NEXT:      [[V38:%\d+]] = tile.max %x_1 over %j_1 : f32 to f32
// CHECK-NEXT:      %t_3 = arith.maximumf %t_2, [[V38]] : f32
// CHECK-NEXT:      tile.holds %same over %j_1 from %held_start to %held_stop
// CHECK-NEXT:      tile.holds %valid_1 over %j_1 from %held_start to %held_stop
// CHECK-NEXT:      tile.yield %t_3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i] = %t_1 : f32
// CHECK-NEXT:    }
attn.kernel @equal_and_valid {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %one = arith.constant 1 : index
  %end = arith.addi %i, %one : index
  %stop = arith.minsi %N, %end : index
  %j = attn.over "j" to %stop up to %N
  %x = attn.read @x[%j] : f32
  %r = attn.read @row[%i] : index
  %c = attn.read @key[%j] : index
  %same = arith.cmpi eq, %r, %c : index
  %valid = attn.read @valid[%j] : i1
  %seen = arith.andi %same, %valid : i1
  %t = attn.max %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: tile.kernel @orders_of_rows_and_keys_mixed {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 8 : index
// CHECK-NEXT:    [[V3:%\d+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:    %t = tile.broadcast [[V3]] over(%i) : f32 to f32
// CHECK-NEXT:    %r = tile.load @row[%i] : index
// CHECK-NEXT:    %two = arith.constant 2 : index
// CHECK-NEXT:    [[V4:%\d+]] = arith.subi %r, %two : index
// CHECK-NEXT:    %least = tile.min [[V4]] over %i : index to index
// CHECK-NEXT:    [[V5:%\d+]] = arith.subi %r, %i : index
// CHECK-NEXT:    %most = tile.max [[V5]] over %i : index to index
// CHECK-NEXT:    %most_1 = tile.max [[V4]] over %i : index to index
// CHECK-NEXT:    %least_1 = tile.min [[V5]] over %i : index to index
// CHECK-NEXT:    [[V6:%\d+]] = arith.constant 16 : index
// CHECK-NEXT:    [[V7:%\d+]] = tile.broadcast %N over() : index to index
// CHECK-NEXT:    [[V8:%\d+]] = tile.broadcast [[V1]] over() : index to index
// CHECK-NEXT:    %seen_start, %seen_stop, %held_start, %held_stop = tile.loop %j0 = [[V1]] to %N step [[V6]] iter_args([[V9:%\d+]] = [[V7]], [[V10:%\d+]] = [[V8]], [[V11:%\d+]] = [[V7]], [[V12:%\d+]] = [[V7]]) -> (index, index, index, index) {
// CHECK-NEXT:      %j = tile.range "j" from %j0 to %N size [[V6]]
// CHECK-NEXT:      %c = tile.load @key[%j] : index
// CHECK-NEXT:      [[V13:%\d+]] = arith.cmpi slt, %least, %c : index
// CHECK-NEXT:      [[V14:%\d+]] = arith.cmpi sge, %most, %c : index
// CHECK-NEXT:      [[V15:%\d+]] = arith.andi [[V13]], [[V14]] : i1
// CHECK-NEXT:      [[V16:%\d+]] = arith.cmpi slt, %most_1, %c : index
// CHECK-NEXT:      [[V17:%\d+]] = arith.cmpi sge, %least_1, %c : index
// CHECK-NEXT:      [[V18:%\d+]] = arith.andi [[V16]], [[V17]] : i1
// CHECK-NEXT:      [[V19:%\d+]] = arith.select [[V15]], %j, %N : index
// CHECK-NEXT:      [[V20:%\d+]] = tile.min [[V19]] over %j : index to index
// CHECK-NEXT:      [[V21:%\d+]] = arith.minsi [[V9]], [[V20]] : index
// CHECK-NEXT:      [[V22:%\d+]] = arith.constant 1 : index
// CHECK-NEXT:      [[V23:%\d+]] = arith.addi %j, [[V22]] : index
// CHECK-NEXT:      [[V24:%\d+]] = arith.select [[V15]], [[V23]], [[V1]] : index
// CHECK-NEXT:      [[V25:%\d+]] = tile.max [[V24]] over %j : index to index
// CHECK-NEXT:      [[V26:%\d+]] = arith.maxsi [[V10]], [[V25]] : index
// CHECK-NEXT:      [[V27:%\d+]] = arith.select [[V18]], %j, %N : index
// CHECK-NEXT:      [[V28:%\d+]] = tile.min [[V27]] over %j : index to index
// CHECK-NEXT:      [[V29:%\d+]] = arith.minsi [[V11]], [[V28]] : index
// CHECK-NEXT:      [[V30:%\d+]] = arith.cmpi slt, %j, [[V29]] : index
// CHECK-NEXT:      [[V31:%\d+]] = arith.ori [[V18]], [[V30]] : i1
// CHECK-NEXT:      [[V32:%\d+]] = arith.select [[V31]], %N, %j : index
// CHECK-NEXT:      [[V33:%\d+]] = tile.min [[V32]] over %j : index to index
// CHECK-NEXT:      [[V34:%\d+]] = arith.minsi [[V12]], [[V33]] : index
// CHECK-NEXT:      tile.yield [[V21]], [[V26]], [[V29]], [[V34]] : index, index, index, index
// CHECK-NEXT:    }
// CHECK-NEXT:    [[V35:%\d+]] = arith.maxsi %seen_start, [[V1]] : index
// CHECK-NEXT:    [[V36:%\d+]] = arith.floordivsi [[V35]], [[V2]] : index
// CHECK-NEXT:    %start = arith.muli [[V36]], [[V2]] : index
// CHECK-NEXT:    %stop = arith.minsi %N, %seen_stop : index
// CHECK-NEXT:    %t_1 = tile.loop %j0_1 = %start to %stop step [[V2]] rows from [[V1]] to %N iter_args(%t_2 = %t) -> (f32) {
// CHECK-NEXT:      %j_end = arith.addi %j0_1, [[V2]] : index
// CHECK-NEXT:      %j_1 = tile.range "j" from %j0_1 to %j_end size [[V2]]
// CHECK-NEXT:      %j_in = arith.cmpi sgt, %N, %j_1 : index
// CHECK-NEXT:      %x = tile.load @x[%j_1] where %j_in : f32
// CHECK-NEXT:      %c_1 = tile.load @key[%j_1] where %j_in : index
// CHECK-NEXT:      %distance = arith.subi %r, %c_1 : index
// CHECK-NEXT:      %near = arith.cmpi slt, %distance, %two : index
// CHECK-NEXT:      %before = arith.cmpi sge, %distance, %i : index
// CHECK-NEXT:      [[V37:%\d+]] = arith.andi %near, %before : i1
// CHECK-NEXT:      [[V38:%\d+]] = arith.andi [[V37]], %j_in : i1
// CHECK-NEXT:      %x_1 = arith.select [[V38]], %x, [[V3]] : f32
// CHECK-NEXT:      [[V39:%\d+]] = tile.max %x_1 over %j_1 : f32 to f32
// CHECK-NEXT:      %t_3 = arith.maximumf %t_2, [[V39]] : f32
// CHECK-NEXT:      tile.holds %near over %j_1 from %held_start to %held_stop
// CHECK-NEXT:      tile.holds %before over %j_1 from %held_start to %held_stop
// CHECK-NEXT:      tile.yield %t_3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i] = %t_1 : f32
// CHECK-NEXT:    }
attn.kernel @orders_of_rows_and_keys_mixed {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %r = attn.read @row[%i] : index
  %c = attn.read @key[%j] : index
  %two = arith.constant 2 : index
  %distance = arith.subi %r, %c : index
  %near = arith.cmpi slt, %distance, %two : index
  %before = arith.cmpi sge, %distance, %i : index
  %seen = arith.andi %near, %before : i1
  %t = attn.max %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: tile.kernel @either {
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    [[V0:%\d+]] = arith.constant 4 : index
// CHECK-NEXT:    %i0 = tile.program "i" to %M step [[V0]]
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %M size [[V0]]
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 0 : index
// CHECK-NEXT:    [[V2:%\d+]] = arith.constant 8 : index
// CHECK-NEXT:    [[V3:%\d+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:    %t = tile.broadcast [[V3]] over(%i) : f32 to f32
// CHECK-NEXT:    %r = tile.load @row[%i] : index
// CHECK-NEXT:    %least = tile.min %r over %i : index to index
// CHECK-NEXT:    %most = tile.max %r over %i : index to index
// CHECK-NEXT:    %least_1 = tile.min %i over %i : index to index
// CHECK-NEXT:    [[V4:%\d+]] = arith.constant 16 : index
// CHECK-NEXT:    [[V5:%\d+]] = tile.broadcast %N over() : index to index
// CHECK-NEXT:    [[V6:%\d+]] = tile.broadcast [[V1]] over() : index to index
// CHECK-NEXT:    %seen_start, %seen_stop, %held_start, %held_stop = tile.loop %j0 = [[V1]] to %N step [[V4]] iter_args([[V7:%\d+]] = [[V5]], [[V8:%\d+]] = [[V6]], [[V9:%\d+]] = [[V5]], [[V10:%\d+]] = [[V5]]) -> (index, index, index, index) {
// CHECK-NEXT:      %j = tile.range "j" from %j0 to %N size [[V4]]
// CHECK-NEXT:      %c = tile.load @key[%j] : index
// CHECK-NEXT:      [[V11:%\d+]] = arith.cmpi sle, %least, %c : index
// CHECK-NEXT:      [[V12:%\d+]] = arith.cmpi sge, %most, %c : index
// CHECK-NEXT:      [[V13:%\d+]] = arith.andi [[V11]], [[V12]] : i1
// CHECK-NEXT:      [[V14:%\d+]] = arith.cmpi slt, %least_1, %c : index
// CHECK-NEXT:      [[V15:%\d+]] = arith.ori [[V13]], [[V14]] : i1
// CHECK-NEXT:      [[V16:%\d+]] = arith.cmpi sle, %most, %c : index
// CHECK-NEXT:      [[V17:%\d+]] = arith.cmpi sge, %least, %c : index
// CHECK-NEXT:      [[V18:%\d+]] = arith.andi [[V16]], [[V17]] : i1
// CHECK-NEXT:      [[V19:%\d+]] = arith.select [[V15]], %j, %N : index
// CHECK-NEXT:      [[V20:%\d+]] = tile.min [[V19]] over %j : index to index
// CHECK-NEXT:      [[V21:%\d+]] = arith.minsi [[V7]], [[V20]] : index
// CHECK-NEXT:      [[V22:%\d+]] = arith.constant 1 : index
// CHECK-NEXT:      [[V23:%\d+]] = arith.addi %j, [[V22]] : index
// CHECK-NEXT:      [[V24:%\d+]] = arith.select [[V15]], [[V23]], [[V1]] : index
// CHECK-NEXT:      [[V25:%\d+]] = tile.max [[V24]] over %j : index to index
// CHECK-NEXT:      [[V26:%\d+]] = arith.maxsi [[V8]], [[V25]] : index
// CHECK-NEXT:      [[V27:%\d+]] = arith.select [[V18]], %j, %N : index
// CHECK-NEXT:      [[V28:%\d+]] = tile.min [[V27]] over %j : index to index
// CHECK-NEXT:      [[V29:%\d+]] = arith.minsi [[V9]], [[V28]] : index
// CHECK-NEXT:      [[V30:%\d+]] = arith.cmpi slt, %j, [[V29]] : index
// CHECK-NEXT:      [[V31:%\d+]] = arith.ori [[V18]], [[V30]] : i1
// CHECK-NEXT:      [[V32:%\d+]] = arith.select [[V31]], %N, %j : index
// CHECK-NEXT:      [[V33:%\d+]] = tile.min [[V32]] over %j : index to index
// CHECK-NEXT:      [[V34:%\d+]] = arith.minsi [[V10]], [[V33]] : index
// CHECK-NEXT:      tile.yield [[V21]], [[V26]], [[V29]], [[V34]] : index, index, index, index
// CHECK-NEXT:    }
// CHECK-NEXT:    [[V35:%\d+]] = arith.maxsi %seen_start, [[V1]] : index
// CHECK-NEXT:    [[V36:%\d+]] = arith.floordivsi [[V35]], [[V2]] : index
// CHECK-NEXT:    %start = arith.muli [[V36]], [[V2]] : index
// CHECK-NEXT:    %stop = arith.minsi %N, %seen_stop : index
// CHECK-NEXT:    %t_1 = tile.loop %j0_1 = %start to %stop step [[V2]] rows from [[V1]] to %N iter_args(%t_2 = %t) -> (f32) {
// CHECK-NEXT:      %j_end = arith.addi %j0_1, [[V2]] : index
// CHECK-NEXT:      %j_1 = tile.range "j" from %j0_1 to %j_end size [[V2]]
// CHECK-NEXT:      %j_in = arith.cmpi sgt, %N, %j_1 : index
// CHECK-NEXT:      %x = tile.load @x[%j_1] where %j_in : f32
// CHECK-NEXT:      %c_1 = tile.load @key[%j_1] where %j_in : index
// CHECK-NEXT:      %same = arith.cmpi eq, %r, %c_1 : index
// CHECK-NEXT:      %late = arith.cmpi sgt, %c_1, %i : index
// CHECK-NEXT:      %known = tile.load @both[%i, %j_1] where %j_in : i1
// CHECK-NEXT:      %late1 = arith.andi %late, %known : i1
// CHECK-NEXT:      %seen = arith.ori %same, %late1 : i1
// CHECK-NEXT:      [[V37:%\d+]] = arith.andi %seen, %j_in : i1
// CHECK-NEXT:      %x_1 = arith.select [[V37]], %x, [[V3]] : f32
// CHECK-NEXT:      [[V38:%\d+]] = tile.max %x_1 over %j_1 : f32 to f32
// CHECK-NEXT:      %t_3 = arith.maximumf %t_2, [[V38]] : f32
// CHECK-NEXT:      tile.holds %seen over %j_1 from %held_start to %held_stop
// CHECK-NEXT:      tile.yield %t_3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store @o[%i] = %t_1 : f32
// CHECK-NEXT:    }
attn.kernel @either {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %x = attn.read @x[%j] : f32
  %r = attn.read @row[%i] : index
  %c = attn.read @key[%j] : index
  %two = arith.constant 2 : index
  %same = arith.cmpi eq, %r, %c : index
  %late = arith.cmpi sgt, %c, %i : index
  %known = attn.read @both[%i, %j] : i1
  %late1 = arith.andi %late, %known : i1
  %seen = arith.ori %same, %late1 : i1
  %t = attn.max %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}
