// RUN: attndsl opt %s --passes assign-roles

// Sums of weights by values, with no state beside them: what is carried is multiplied with nothing. Where keys lie is
// read from a table in the second kernel, and in the third they are turned: those are no boxes, and a role of its own
// loads them.

spec.tensor @table "input" "i32" ["N"]
spec.tensor @turned "input" "bf16" ["16", "N"]
spec.tensor @p "output" "f32" ["M", "16"]
spec.tensor @r "output" "f32" ["M", "16"]
spec.tensor @q "input" "bf16" ["M", "16"]
spec.tensor @k "input" "bf16" ["N", "16"]
spec.tensor @v "input" "bf16" ["N", "16"]
spec.tensor @o "output" "f32" ["M", "16"]
tile.kernel @sums form "whole" {
  %zero = arith.constant 0 : index
  %D = arith.constant 16 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS"
  %i0 = tile.program "i" to %M step %ROWS
  %i_end = arith.addi %i0, %ROWS : index
  %i = tile.range "i" from %i0 to %i_end size %ROWS
  %i_in = arith.cmpi slt, %i, %M : index
  %d = tile.range "d" from %zero to %D size %D
  %e = tile.range "e" from %zero to %D size %D
  %q = tile.load @q[%i, %d] where %i_in : f32
  %z = tile.broadcast %none over (%i, %e) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %KEYS iter_args(%acc = %z) -> (f32) {
    %j_end = arith.addi %j0, %KEYS : index
    %j = tile.range "j" from %j0 to %j_end size %KEYS
    %j_in = arith.cmpi slt, %j, %N : index
    %k = tile.load @k[%j, %d] where %j_in : f32
    %score = tile.dot %q, %k over %d rounded to "bf16" : f32
    %w = math.tanh %score : f32
    %v = tile.load @v[%j, %e] where %j_in : f32
    %part = tile.dot %w, %v over %j rounded to "bf16" : f32
    %next = arith.addf %acc, %part : f32
    tile.kept %k, %v : f32, f32
    tile.yield %next : f32
  }
  tile.store @o[%i, %e] = %sum where %i_in : f32
  tile.covers rows %i0 keys %N by %KEYS
  tile.kept %q : f32
}
tile.kernel @gathered form "whole" {
  %zero = arith.constant 0 : index
  %D = arith.constant 16 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS"
  %i0 = tile.program "i" to %M step %ROWS
  %i_end = arith.addi %i0, %ROWS : index
  %i = tile.range "i" from %i0 to %i_end size %ROWS
  %i_in = arith.cmpi slt, %i, %M : index
  %d = tile.range "d" from %zero to %D size %D
  %e = tile.range "e" from %zero to %D size %D
  %q = tile.load @q[%i, %d] where %i_in : f32
  %z = tile.broadcast %none over (%i, %e) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %KEYS iter_args(%acc = %z) -> (f32) {
    %j_end = arith.addi %j0, %KEYS : index
    %j = tile.range "j" from %j0 to %j_end size %KEYS
    %j_in = arith.cmpi slt, %j, %N : index
    %place = tile.load @table[%j] where %j_in : index
    %k = tile.load @k[%place, %d] where %j_in : f32
    %score = tile.dot %q, %k over %d rounded to "bf16" : f32
    %w = math.tanh %score : f32
    %v = tile.load @v[%j, %e] where %j_in : f32
    %part = tile.dot %w, %v over %j rounded to "bf16" : f32
    %next = arith.addf %acc, %part : f32
    tile.kept %k, %v : f32, f32
    tile.yield %next : f32
  }
  tile.store @p[%i, %e] = %sum where %i_in : f32
  tile.covers rows %i0 keys %N by %KEYS
  tile.kept %q : f32
}
tile.kernel @turned form "whole" {
  %zero = arith.constant 0 : index
  %D = arith.constant 16 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS"
  %i0 = tile.program "i" to %M step %ROWS
  %i_end = arith.addi %i0, %ROWS : index
  %i = tile.range "i" from %i0 to %i_end size %ROWS
  %i_in = arith.cmpi slt, %i, %M : index
  %d = tile.range "d" from %zero to %D size %D
  %e = tile.range "e" from %zero to %D size %D
  %q = tile.load @q[%i, %d] where %i_in : f32
  %z = tile.broadcast %none over (%i, %e) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %KEYS iter_args(%acc = %z) -> (f32) {
    %j_end = arith.addi %j0, %KEYS : index
    %j = tile.range "j" from %j0 to %j_end size %KEYS
    %j_in = arith.cmpi slt, %j, %N : index
    %k = tile.load @turned[%d, %j] where %j_in : f32
    %score = tile.dot %q, %k over %d rounded to "bf16" : f32
    %w = math.tanh %score : f32
    %v = tile.load @v[%j, %e] where %j_in : f32
    %part = tile.dot %w, %v over %j rounded to "bf16" : f32
    %next = arith.addf %acc, %part : f32
    tile.kept %k, %v : f32, f32
    tile.yield %next : f32
  }
  tile.store @r[%i, %e] = %sum where %i_in : f32
  tile.covers rows %i0 keys %N by %KEYS
  tile.kept %q : f32
}

// CHECK:      tile.kernel @sums form "whole"
// CHECK:      tile.kernel @sums form "roles"
// CHECK:        %z = tile.broadcast
// CHECK:        tile.loop %turn_1 = %{{\d+}} to %visits_1 step %{{\d+}} iter_args(%{{\w+}} = %z, %{{\w+}} = %w_1)
// CHECK:          %sums = roles.await
// CHECK-NEXT:     roles.release @v_ring
// CHECK-NEXT:     %{{\w+}} = roles.operand %{{\w+}} as "bf16" from %j_1 to %place : f32
// CHECK:          tile.yield %sums, %{{\w+}} : f32, f32
// CHECK:      tile.kernel @gathered form "roles"
// CHECK:        roles.relay @k_relay of "bf16" sizes [64 : index, 16 : index] stages 2 readers 2
// CHECK-NEXT:   roles.ring @v_ring of @v along [0 : index, 1 : index] sizes [64 : index, 16 : index] stages 2 readers 2
// CHECK:        roles.loader registers 120 {
// CHECK:          tile.loop
// CHECK:            %place = tile.load @table[%j] where %j_in : index
// CHECK-NEXT:       %k = tile.load @k[%place, %d] where %j_in : f32
// CHECK:            roles.wait "empty" @k_relay[%k_stage]
// CHECK-NEXT:       roles.hand @k_relay[%k_stage] %k over(%j, %d) : f32
// CHECK:        roles.consumers 2 registers 184 {
// CHECK:          %k_{{\d}} = roles.view @k_relay
// CHECK:          roles.product
// CHECK:          roles.release @k_relay
// CHECK:      tile.kernel @turned form "roles"
// CHECK:        roles.loader
// CHECK:            roles.hand @k_relay
