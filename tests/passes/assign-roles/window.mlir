// RUN: attndsl opt %s --passes assign-roles

// A causal window: full tiles lie between mixed ones, and one loop walks all but the first, so that where a tile begins
// is asked of its turn; the mask stands beneath a condition. What a program computes for all its rows is computed once,
// before the roles. Rows whose sums are not finite are folded by a task of each consumer's. Queries and results are
// boxes: so many heads stand beside one another as divide the rows of a consumer.

spec.tensor @q "input" "bf16" ["B", "Hq", "M", "D"]
spec.tensor @k "input" "bf16" ["B", "Hkv", "N", "D"]
spec.tensor @v "input" "bf16" ["B", "Hkv", "N", "E"]
spec.tensor @o "output" "bf16" ["B", "Hq", "M", "E"]
spec.parameter @window index = 4096 : index
tile.kernel @sliding_window form "whole" schedules [{ROWS = 16 : index, KEYS = 64 : index, num_warps = 4 : index, num_stages = 3 : index}, {ROWS = 32 : index, KEYS = 64 : index, num_warps = 4 : index, num_stages = 3 : index}, {ROWS = 64 : index, KEYS = 64 : index, num_warps = 4 : index, num_stages = 3 : index}] bounds [[24588 : index], [1 : index, "Hkv"], [1 : index, "Hkv", "Hq"], [1 : index, "Hq"], [10 : index, "Hq", "M"], [12 : index, "M"], [6 : index, "N"], [2 : index, @window], [4096 : index, [@k, 2 : index]], [16 : index, [@k, 3 : index]], [16 : index, [@o, 3 : index]], [16 : index, [@q, 3 : index]], [4096 : index, [@v, 2 : index]], [16 : index, [@v, 3 : index]]] strided [@k, @o, @q, @v] {
  %Hkv = spec.dim "Hkv"
  %B = spec.dim "B"
  %0 = arith.constant 1 : index
  %b = tile.program "b" to %B step %0
  %h_group = tile.program "h_group" to %Hkv step %0
  %Hq = spec.dim "Hq"
  %group = arith.floordivsi %Hq, %Hkv : index
  %M = spec.dim "M"
  %rows = arith.muli %M, %group : index
  %ROWS = spec.choice "ROWS"
  %i_h0 = tile.program "i_h" to %rows step %ROWS
  %i_h_end = arith.addi %i_h0, %ROWS : index
  %i_h = tile.range "i_h" from %i_h0 to %i_h_end size %ROWS
  %i_h_in = arith.cmpi slt, %i_h, %rows : index
  %h = spec.mod %i_h, %group
  %i = arith.floordivsi %i_h, %group : index
  %1 = arith.constant 0 : index
  %N = spec.dim "N"
  %2 = arith.addi %i, %N : index
  %3 = arith.addi %2, %0 : index
  %window = spec.param "window" : index
  %4 = arith.subi %3, %window : index
  %5 = arith.subi %4, %M : index
  %row_stop = arith.subi %3, %M : index
  %row_start = arith.maxsi %5, %1 : index
  %6 = arith.floordivsi %i_h0, %group : index
  %7 = arith.addi %6, %N : index
  %8 = arith.addi %7, %0 : index
  %9 = arith.subi %8, %window : index
  %10 = arith.subi %9, %M : index
  %start = arith.maxsi %10, %1 : index
  %11 = arith.minsi %i_h_end, %rows : index
  %12 = arith.subi %11, %0 : index
  %last = arith.maxsi %12, %i_h0 : index
  %13 = arith.floordivsi %last, %group : index
  %14 = arith.addi %13, %N : index
  %15 = arith.addi %14, %0 : index
  %stop = arith.subi %15, %M : index
  %KEYS = spec.choice "KEYS"
  %16 = arith.constant 0xff800000 : f32
  %m = tile.broadcast %16 over(%i_h) : f32 to f32
  %17 = arith.constant 0.000000e+00 : f32
  %l = tile.broadcast %17 over(%i_h) : f32 to f32
  %E = arith.constant 16 : index
  %e = tile.range "e" from %1 to %E size %E
  %18 = tile.place [] of() axes() near(%e)
  %19 = tile.broadcast %17 over(%i_h, %e) : f32 to f32
  %20 = arith.muli %h_group, %group : index
  %h_1 = arith.addi %20, %h : index
  %d = tile.range "d" from %1 to %E size %E
  %21 = tile.place [] of() axes() near(%d)
  %q = tile.load @q[%b, %h_1, %i, %21] where %i_h_in : f32
  %scale = arith.constant 0.360673755 : f32
  %22 = arith.subi %15, %window : index
  %23 = arith.subi %22, %M : index
  %24 = arith.maxsi %23, %1 : index
  %25 = arith.subi %24, %start : index
  %26 = arith.maxsi %25, %1 : index
  %27 = arith.addi %26, %KEYS : index
  %28 = arith.subi %27, %0 : index
  %29 = arith.floordivsi %28, %KEYS : index
  %30 = arith.muli %29, %KEYS : index
  %full_start = arith.addi %start, %30 : index
  %31 = arith.subi %8, %M : index
  %32 = arith.minsi %31, %stop : index
  %33 = arith.subi %32, %full_start : index
  %34 = arith.maxsi %33, %1 : index
  %35 = arith.floordivsi %34, %KEYS : index
  %covered = arith.muli %35, %KEYS : index
  %full_stop = arith.addi %full_start, %covered : index
  %36, %37, %38 = tile.loop full %j0 = %full_start to %full_stop step %KEYS rows from %row_start to %row_stop iter_args(%m_1 = %m, %l_1 = %l, %39 = %19) -> (f32, f32, f32) {
    %j_end = arith.addi %j0, %KEYS : index
    %j = tile.range "j" from %j0 to %j_end size %KEYS
    %40 = tile.place [1 : index] of(%j0) axes(%j) near()
    %k = tile.load @k[%b, %h_group, %40, %21] : f32
    %41 = tile.dot %q, %k over %d rounded to "bf16" : f32
    %v = tile.load @v[%b, %h_group, %40, %18] : f32
    %42 = tile.max %41 over %j : f32 to f32
    %43 = arith.mulf %42, %scale : f32
    %44 = arith.mulf %41, %scale : f32
    %m_new = arith.maximumf %m_1, %43 : f32
    %45 = arith.cmpf oeq, %m_new, %16 : f32
    %shift = arith.select %45, %17, %m_new : f32
    %46 = arith.subf %44, %shift : f32
    %p = math.exp2 %46 : f32
    %47 = arith.subf %m_1, %shift : f32
    %alpha = math.exp2 %47 : f32
    %48 = tile.sum %p over %j : f32 to f32
    %49 = arith.mulf %l_1, %alpha : f32
    %l_2 = arith.addf %49, %48 : f32
    %50 = tile.dot %p, %v over %j rounded to "bf16" : f32
    %51 = arith.mulf %39, %alpha : f32
    %52 = arith.addf %51, %50 : f32
    tile.kept %k, %v : f32, f32
    tile.yield %m_new, %l_2, %52 : f32, f32, f32
  }
  %53 = arith.subi %stop, %covered : index
  %54, %55, %56 = tile.loop mixed stages 1 %step = %start to %53 step %KEYS rows from %row_start to %row_stop iter_args(%m_2 = %36, %l_3 = %37, %57 = %38) -> (f32, f32, f32) {
    %58 = arith.addi %step, %covered : index
    %59 = arith.cmpi slt, %step, %full_start : index
    %j0_1 = arith.select %59, %step, %58 : index
    %j_end_1 = arith.addi %j0_1, %KEYS : index
    %j_1 = tile.range "j" from %j0_1 to %j_end_1 size %KEYS
    %60 = tile.place [1 : index] of(%j0_1) axes(%j_1) near()
    %seen = arith.cmpi sle, %row_start, %j_1 : index
    %seen_1 = arith.cmpi sgt, %row_stop, %j_1 : index
    %j_in = arith.cmpi sgt, %stop, %j_1 : index
    %k_1 = tile.load @k[%b, %h_group, %60, %21] where %j_in : f32
    %61 = tile.dot %q, %k_1 over %d rounded to "bf16" : f32
    %v_1 = tile.load @v[%b, %h_group, %60, %18] where %j_in : f32
    %62 = arith.andi %seen, %seen_1 : i1
    %63 = arith.select %62, %61, %16 : f32
    %64 = tile.max %63 over %j_1 : f32 to f32
    %65 = arith.mulf %64, %scale : f32
    %66 = arith.mulf %63, %scale : f32
    %m_new_1 = arith.maximumf %m_2, %65 : f32
    %67 = arith.cmpf oeq, %m_new_1, %16 : f32
    %shift_1 = arith.select %67, %17, %m_new_1 : f32
    %68 = arith.subf %66, %shift_1 : f32
    %p_1 = math.exp2 %68 : f32
    %69 = arith.subf %m_2, %shift_1 : f32
    %alpha_1 = math.exp2 %69 : f32
    %70 = tile.sum %p_1 over %j_1 : f32 to f32
    %71 = arith.mulf %l_3, %alpha_1 : f32
    %l_4 = arith.addf %71, %70 : f32
    %72 = tile.dot %p_1, %v_1 over %j_1 rounded to "bf16" : f32
    %73 = arith.mulf %57, %alpha_1 : f32
    %74 = arith.addf %73, %72 : f32
    tile.kept %k_1, %v_1 : f32, f32
    tile.narrow %j_1, %seen, %seen_1, %j_in : index, i1, i1, i1
    tile.yield %m_new_1, %l_4, %74 : f32, f32, f32
  }
  %75 = arith.mulf %56, %17 : f32
  %76 = tile.sum %75 over %e : f32 to f32
  %77 = arith.select %i_h_in, %76, %17 : f32
  %78 = tile.sum %77 over %i_h : f32 to f32
  %79 = arith.cmpf oeq, %78, %17 : f32
  %m_3, %l_5, %80 = scf.if %79 -> (f32, f32, f32) {
    scf.yield %54, %55, %56 : f32, f32, f32
  } else {
    %q_1 = tile.load apart @q[%b, %h_1, %i, %21] where %i_h_in : f32
    %81, %82, %83 = tile.loop %j_2 = %start to %stop step %0 rows from %row_start to %row_stop iter_args(%m_4 = %m, %l_6 = %l, %84 = %19) -> (f32, f32, f32) {
      %seen_2 = arith.cmpi sle, %row_start, %j_2 : index
      %seen_3 = arith.cmpi sgt, %row_stop, %j_2 : index
      %k_2 = tile.load apart @k[%b, %h_group, %j_2, %21] : f32
      %85 = arith.mulf %q_1, %k_2 : f32
      %86 = tile.sum %85 over %d : f32 to f32
      %v_2 = tile.load apart @v[%b, %h_group, %j_2, %18] : f32
      %87 = arith.andi %seen_2, %seen_3 : i1
      %88 = arith.select %87, %86, %16 : f32
      %89 = arith.mulf %88, %scale : f32
      %m_new_2 = arith.maximumf %m_4, %89 : f32
      %90 = arith.cmpf oeq, %m_new_2, %16 : f32
      %shift_2 = arith.select %90, %17, %m_new_2 : f32
      %91 = arith.subf %89, %shift_2 : f32
      %p_2 = math.exp2 %91 : f32
      %92 = arith.subf %m_4, %shift_2 : f32
      %alpha_2 = math.exp2 %92 : f32
      %93 = arith.mulf %l_6, %alpha_2 : f32
      %l_7 = arith.addf %93, %p_2 : f32
      %94 = arith.mulf %p_2, %v_2 : f32
      %95 = arith.select %87, %94, %17 : f32
      %96 = arith.mulf %84, %alpha_2 : f32
      %97 = arith.addf %96, %95 : f32
      tile.narrow %seen_2, %seen_3 : i1, i1
      tile.yield %m_new_2, %l_7, %97 : f32, f32, f32
    }
    scf.yield %81, %82, %83 : f32, f32, f32
  }
  %98 = arith.cmpf oeq, %l_5, %17 : f32
  %99 = arith.divf %80, %l_5 : f32
  %100 = arith.select %98, %17, %99 : f32
  tile.store @o[%b, %h_1, %i, %18] = %100 where %i_h_in : f32
  tile.covers rows %i_h0 keys %N by %KEYS
  tile.kept %q : f32
  tile.launched %group : index
  tile.unsigned %B, %Hkv, %rows, %i_h, %group, %i_h0, %last, %28, %KEYS, %34 : index, index, index, index, index, index, index, index, index, index
  tile.narrow %i_h, %i_h_in, %h, %i, %2, %3, %4, %5, %row_stop, %row_start, %6, %13, %e, %h_1, %d : index, i1, index, index, index, index, index, index, index, index, index, index, index, index, index
}

// CHECK:      tile.kernel @sliding_window form "whole"
// CHECK:      tile.kernel @sliding_window form "roles"
// CHECK:      %pack = tile.pack %group in 64
// CHECK-NEXT: %packs = arith.floordivsi %group, %pack : index
// CHECK:      roles.ring @k_ring of @k along [2 : index, 3 : index] sizes [128 : index, 16 : index] stages 2 readers 2
// CHECK-NEXT: roles.ring @v_ring of @v along [2 : index, 3 : index] sizes [128 : index, 16 : index] stages 2 readers 2
// CHECK-NEXT: roles.ring @q_ring of @q along [2 : index, 3 : index] across 1 by %pack sizes [64 : index, 16 : index]
// CHECK-NEXT: roles.outbox @o_outbox of @o along [2 : index, 3 : index] across 1 by %pack sizes [64 : index, 16 : index]
// CHECK-NEXT: roles.board @numbers stages 2 readers 2
// CHECK-NEXT: roles.producer registers 24 {
// CHECK-NEXT:   roles.walk
// CHECK:          %number = roles.take @sliding_window_taken after %walked
// CHECK:          roles.post @numbers
// CHECK:        %b_1, %h_group_1, %i_h0_1 = roles.programs %number_1
// CHECK-NEXT:     %h_group_2 = arith.floordivsi %h_group_1, %packs : index
// CHECK:          %visits = roles.turns alike
// CHECK:          roles.wait "empty" @k_ring
// CHECK-NEXT:     roles.expect @k_ring[%k_stage] bytes 4096
// CHECK:          roles.copy @k_ring[%k_stage] from(%b_1, %h_group_2
// CHECK:          roles.copy @q_ring
// CHECK:          roles.copy @q_ring
// CHECK-NEXT:     tile.loop %turn
// CHECK:            roles.copy @k_ring
// CHECK:            roles.copy @v_ring
// CHECK-NEXT:       tile.yield
// CHECK:          roles.copy @v_ring
// CHECK:          roles.next
// CHECK:      roles.consumers 2 registers 240 {
// CHECK-NEXT: ^bb0(%part: index):
// CHECK-NEXT:   roles.task @again {
// CHECK-NEXT:   ^bb0(%number_2: index):
// CHECK:          %first = roles.share 64 rows
// CHECK:          tile.load apart @q
// CHECK:          tile.loop %j
// CHECK:          tile.store @o{{.*}} scattered
// CHECK:        roles.walk
// CHECK:          roles.release @numbers
// CHECK:          %first_1 = roles.share 64 rows
// CHECK:          %scores = roles.await %scoring pending 0 : f32
// CHECK-NEXT:     roles.release @k_ring
// CHECK:          %[[FULL:is_full\w*]] = arith.cmpi sge, %{{\w+}}, %mixed_1 : index
// CHECK-NEXT:     %{{\w+}} = scf.if %[[FULL]] -> (f32) {
// CHECK-NEXT:       scf.yield %scores : f32
// CHECK-NEXT:     } else {
// CHECK:            arith.select
// CHECK:          tile.loop %turn_1 = %{{\d+}} to %visits_1
// CHECK:            %scoring_1 = roles.product %{{\w+}}, %{{\w+}} over %d_1 : f32
// CHECK:            %weighing = roles.product %{{\w+}}, %v_1 over %place onto %{{\w+}} : f32
// CHECK-NEXT:       %scores_1 = roles.await %scoring_1 pending 1 : f32
// CHECK-NEXT:       roles.release @k_ring
// CHECK:            %[[LATER:is_full\w*]] = arith.cmpi sge, %turn_1, %mixed_1 : index
// CHECK-NEXT:       %{{\w+}} = scf.if %[[LATER]] -> (f32) {
// CHECK-NEXT:         scf.yield %scores_1 : f32
// CHECK-NEXT:       } else {
// CHECK:              arith.select
// CHECK:            %sums = roles.await %weighing pending 0 : f32
// CHECK-NEXT:       roles.release @v_ring
// CHECK:            tile.yield
// CHECK-NOT:      tile.loop
// CHECK:          %sums_1 = roles.await %weighing_1 pending 0 : f32
// CHECK-NEXT:     roles.release @v_ring
// CHECK:          scf.if %{{\d+}} {
// CHECK:            roles.put @o_outbox
// CHECK:          } else {
// CHECK-NEXT:       roles.run @again for %number_4
