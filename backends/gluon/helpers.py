"""Functions that files of Gluon have, and the rule by which their launchers take roles."""

from __future__ import annotations

from attndsl.backends.gpu.roles_rule import (
    BUSY,
    LEAST_ROWS,
    LEAST_SHARED_ROWS,
    LEAST_SHARED_TURNS,
    SPLIT_TURNS,
    TILE_TURNS,
    WIDE_ROUNDS,
)
from attndsl.ir.walks import FEW_TILES

IMPORTS = """from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

_store_box = tma.async_store if hasattr(tma, "async_store") else tma.async_copy_shared_to_global
_copy_box = tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
"""

ADDS = """
if hasattr(tma, "async_atomic_add"):
    _add_box = tma.async_atomic_add
else:
    from triton._C.libtriton import ir
    from triton.experimental.gluon.language._core import builtin

    @builtin
    def _add_box(boxes, corner, memory, _semantic=None):
        \"\"\"Begins to add a tile in shared memory to a box: each element at once.\"\"\"
        places = _semantic._convert_to_ir_values(corner, require_i64=False)
        _semantic.builder.create_async_tma_reduce(ir.DESCRIPTOR_REDUCE_KIND.ADD, boxes.handle, places, memory.handle)
"""

PIECES = """
_seen_as = getattr(gl.shared_memory_descriptor, "reinterpret", None) or gl.shared_memory_descriptor._reinterpret
"""

BOXES = f'''

def _roles_pay(rows, keys, least, fewer, rounds, tiles, device):
    """Whether roles are faster: for more rows than one consumer has, so many keys, and tiles that leave few idle.

    Fewer keys do where each processor has so many tiles with these to do, or as much.
    """
    processors = _processors(device)
    busy = tiles > {BUSY} * triton.cdiv(tiles, processors) * processors
    enough = keys >= least or (keys >= fewer and tiles * keys >= rounds * fewer * processors)
    return rows >= {LEAST_ROWS} and enough and busy


def _has_roles(asked, splits, pays, device, *tensors):
    """Whether warps have roles: on a Hopper GPU, where boxes can be copied, if that pays or is asked for.

    Other tiles or warps are asked of the plain form, and several splits, unless these are None: of no concern.
    """
    asked = asked or {{}}
    if "ROLES" in asked:
        wanted = asked["ROLES"] and (splits is None or asked.get("SPLITS", 1) == 1)
    else:
        wanted = pays and splits in (1, None) and not asked.keys() - {{"SPLITS", "FUSED", "WIDE"}}
    if not wanted or device.type != "cuda" or torch.cuda.get_device_capability(device)[0] != 9:
        return False
    return all(_box_strides(x) is not None for x in tensors)
'''

WIDE_TILES = f'''

def _is_wide(asked, tiles, wide, device):
    """Whether tiles are those of three consumers, which are fewer: where all are done sooner, or as soon.

    {WIDE_ROUNDS[1]} rounds of them take as long as {WIDE_ROUNDS[0]} of others.
    """
    rounds, fewer = (triton.cdiv(n, _processors(device)) for n in (tiles, wide))
    return (asked or {{}}).get("WIDE", {WIDE_ROUNDS[0]} * fewer <= {WIDE_ROUNDS[1]} * rounds)
'''

FUSED = '''

def _is_fused(asked, pays, device, *tensors):
    """Whether one kernel does what several do, where that has roles: if it is asked for, or nothing is and it pays.

    What it adds up has no order: where PyTorch is to be deterministic, it is only asked for.
    """
    pays = pays and not asked and not torch.are_deterministic_algorithms_enabled()
    return _has_roles({"ROLES": (asked or {}).get("FUSED", pays)}, None, False, device, *tensors)
'''

SHARED = f'''

def _shared_roles_pay(rows, keys, least, tiles, device):
    """Whether roles are faster whose consumers share out sums: for rows, keys and turns that are enough."""
    filled = rows / (64 * max(1, triton.cdiv(rows, 64)))
    turns = tiles * (keys // 64) * filled**2 / _processors(device)
    return rows >= {LEAST_SHARED_ROWS} and keys >= least and turns >= {LEAST_SHARED_TURNS}


def _split_roles(asked, keys, tiles, device):
    """How many splits the keys of roles are cut into: as many as let all processors end soonest."""
    if asked and "SPLITS" in asked:
        return asked["SPLITS"]
    processors, turns = _processors(device), triton.cdiv(keys, 64)

    def cost(splits):
        rounds = triton.cdiv(tiles * splits, processors)
        return rounds * (triton.cdiv(turns, splits) + {TILE_TURNS}) + (splits > 1) * {SPLIT_TURNS}

    filling = [n * processors // max(1, tiles) for n in (1, 2, 3)]
    return min([1, *(splits for splits in filling if 1 < splits <= turns // 2)], key=cost)
'''

HEADS = '''

def _pack(count, rows):
    """How many of so many heads stand beside one another, so that so many rows are a box: the most that divide both.

    All of them where they are a multiple of the rows.
    """
    if count % rows == 0:
        return max(1, count)
    while count:
        rows, count = count, rows % count
    return rows
'''

DESCRIPTOR = '''

def _boxes(x, sizes, order=None, end=None{more}):
    """What tells the copying hardware where boxes of a tensor lie{told}.

    They may go through its axes in another order, and end before the last axis does.
    """
    element = getattr(gl, str(x.dtype).removeprefix("torch."))
    layout = gl.NVMMASharedLayout.get_default_for(sizes, element)
    axes, strides = order or range(x.dim()), _box_strides(x)
    shape = [x.shape[axis] for axis in axes]
    shape[-1] = end or shape[-1]
    return TensorDescriptor(x, shape, [strides[axis] for axis in axes], sizes, layout{given})
'''

OUTSIDE = {"more": ', outside="zero"', "told": ", and what is copied of what lies outside of it", "given": ", outside"}
"""What that is for specs whose absent keys are copied as NaN."""

TAKES = f'''

def _counter(tiles, device):
    """What counts the tiles that programs take beside their first: nothing, where each has {FEW_TILES} at most."""
    return torch.zeros(int(tiles > {FEW_TILES} * _processors(device)), dtype=torch.int32, device=device)


@gluon.jit
def _next_tile(taken_ptr, walked, tiles):
    """The number of a tile that no other program has, for one that has had so many.

    The first is its own, which waits for no memory. Where each has {FEW_TILES} at most, both are: the longest come
    first, and who had the first of all has the last of the others.
    """
    program, programs = gl.program_id(0), gl.num_programs(0)
    many = tiles > {FEW_TILES} * programs
    second = gl.where(walked == 1, {FEW_TILES} * programs - 1 - program, tiles)
    # In a branch of its own the next line took 1.01 of the time of a call.
    later = programs + gl.atomic_add(taken_ptr, 1, mask=(walked > 0) & many, sem="relaxed")
    return gl.where(walked == 0, program, gl.where(many, later, second)).to(gl.int32)
'''

ALIKE = '''

@gluon.jit
def _alike(number):
    """A number that all threads of a warp have, in a register that they share.

    Stages rest on it, or which way a tile ends: where products find operands is computed once for all threads then.
    """
    return gl.inline_asm_elementwise(
        "redux.sync.max.s32 $0, $1, 0xffffffff;", "=r,r", [number], dtype=gl.int32, is_pure=True, pack=1
    )
'''

ANEW = '''

@gluon.jit
def _anew(turn):
    """0, of which no compiler knows that it is the same in each turn, in a register that all threads share.

    What rests on it is computed where it is needed, and has no register from turn to turn.
    """
    return gl.inline_asm_elementwise(
        "{ .reg .b32 sign; shr.u32 sign, $1, 31; redux.sync.max.s32 $0, sign, 0xffffffff; }",
        "=r,r", [turn], dtype=gl.int32, is_pure=True, pack=1,
    )
'''

SECTIONS = '''

@gluon.jit
def _in_section(number, many, tiles, each):
    """The number of the tile that is taken in place of one, where so many places with so many tiles each go together.

    All of a section have their first tiles before one has its second.
    """
    first, within = number // (many * each) * many, number % (many * each)
    several = gl.maximum(gl.minimum(many, tiles // each - first), 1)
    taken = (first + within % several) * each + within // several
    return gl.where(number < tiles, taken, number).to(gl.int32)
'''

TANH = '''

@gluon.jit
def _approximate_tanh(x):
    """With an error of half a step of f16, by one instruction."""
    return gl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=gl.float32, is_pure=True, pack=1)
'''

PACKED = '''

@gluon.jit
def _packed(tile):
    """A tile of 16 bits, two numbers in each register: what two loops carry would be packed anew in each turn."""
    return gl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tile], dtype=tile.dtype, is_pure=True, pack=2)
'''

STORE_ROWS = '''

@gluon.jit
def _store_rows(tile, rows, first, below, pointer, along, pack, across, step, layout: gl.constexpr):
    """Stores the first so many rows of a tile in shared memory, `pack` of them at each place from `first` on.

    Those at places outside of their tensor, before 0 or not below its end, are left out.
    """
    row = gl.arange(0, tile.shape[0], layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, tile.shape[1], layout=gl.SliceLayout(0, layout))
    place = first + (row // pack).to(gl.int64)
    at = pointer + (place * along + (row % pack).to(gl.int64) * across)[:, None] + column[None, :] * step
    gl.store(at, tile.load(layout), mask=((row < rows) & (0 <= place) & (place < below))[:, None])
'''

CLEAR = '''

@gluon.jit
def _clear(tile, count, rows: gl.constexpr, layout: gl.constexpr):
    """Lets a tile in shared memory be 0 from row `count` on, some rows at a time: they pass through registers."""
    if count < rows:
        for first in gl.static_range(0, rows, 16):
            if count < first + 16:
                some = tile.slice(first, 16)
                kept = (first + gl.arange(0, 16, layout=gl.SliceLayout(1, layout)) < count)[:, None]
                some.store(gl.where(kept, some.load(layout), 0.0))
        fence_async_shared()
'''
