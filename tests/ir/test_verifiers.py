"""A failing module for each rule of the three dialects, and what the verifier says of it."""

from __future__ import annotations

from functools import partial
from textwrap import indent

import pytest
from xdsl.utils.test_value import create_ssa_value

from attndsl.ir.attn import ATTN, OverOp
from attndsl.ir.context import parse_module
from attndsl.ir.spec import SPEC
from attndsl.ir.tile import TILE, KernelOp
from attndsl.ir.verified import verify
from attndsl.ir.xdsl import IndexType, IntegerType, VerifyException

DECLARED = """
spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @t "input" "i32" ["M"]
spec.tensor @b "input" "bool" ["M"]
spec.tensor @o "output" "f32" ["M"]
spec.parameter @window index = 4 : index
"""

ATTN_START = """
%M = spec.dim "M"
%N = spec.dim "N"
%c0 = arith.constant 0 : index
%one = arith.constant 1.0 : f32
%i = attn.each "i" to %M
%j = attn.over "j" to %N
%d = attn.axis "d" to %N
%yes = arith.constant true
"""

TILE_START = """
%M = spec.dim "M"
%N = spec.dim "N"
%c0 = arith.constant 0 : index
%c4 = arith.constant 4 : index
%zero = arith.constant 0.0 : f32
%i0 = tile.program "i" to %M step %c4
%i = tile.range "i" from %i0 to %M size %c4
%j = tile.range "j" from %c0 to %N size %N
%d = tile.range "d" from %c0 to %N size %N
%y = tile.load @x[%i, %j] : f32
"""


def attn(body: str, write: str = "attn.write @o[%i] = %one : f32") -> str:
    return f"{DECLARED}attn.kernel @k {{\n{indent(f'{ATTN_START}{body}{chr(10)}{write}', '  ')}\n}}\n"


def tile(body: str, store: str = "tile.store @o[%i] = %zero : f32") -> str:
    return f"{DECLARED}tile.kernel @k {{\n{indent(f'{TILE_START}{body}{chr(10)}{store}', '  ')}\n}}\n"


def fused(body: str, where: str = "%f") -> str:
    """A kernel that fuses something; the tile %a lies in its home the other way round."""
    return tile(
        f"""
        %f = arith.cmpi slt, %M, %N : index
        %e = arith.cmpi slt, %i0, %N : index
        tile.home @h(%c4, %c4) : f32
        %o = tile.range "o" from %i0 to %M size %c4
        %x = tile.load @x[%i, %o] : f32
        %a = arith.negf %x : f32
        tile.into @h[%o, %i] = %a : f32
        %t = tile.fused where {where} -> (f32) {{
          {body}
        }}
        """
    )


def shared(said: str, body: str = "", store: str = "tile.store @o[%i] = %zero : f32") -> str:
    """A kernel that says something before its program."""
    return tile(body, store).replace("  %i0 =", f"  %c = arith.cmpi slt, %M, %N : index\n  {said}\n  %i0 =")


MASK = "%m = tile.mask {} along %i with {} where %p over %part : f32"
ALONE = "masks a part of a tile where that lies, and does nothing else"
STEPS = "steps through the programs that may meet, first, and has others to share"


def stepped() -> str:
    """A kernel whose programs add to the elements of keys, in steps."""
    text = shared('tile.threads share "h" in steps of "i" where %c').replace(
        "  %i = tile.range",
        """  %c1 = arith.constant 1 : index
  %h = tile.program "h" to %N step %c1
  %i = tile.range""",
    )
    loop = """  tile.loop %n0 = %c0 to %N step %c4 {
    %n = tile.range "n" from %n0 to %N size %c4
    %other = arith.addi %n, %i0 : index
    %v = tile.load @x[%h, %n] : f32
    tile.store @s[%h, %n] = %v adds along(%i0) : f32
    tile.yield
  }
"""
    declared = f'{DECLARED}spec.tensor @s "output" "f32" ["N", "N"]\n'
    return text.replace("  tile.store @o[%i] = %zero : f32\n", loop).replace(DECLARED, declared)


@pytest.mark.parametrize("text", [attn(""), tile(""), stepped()])
def test_what_the_cases_start_from_is_well_formed(text: str) -> None:
    parse_module(text).verify()


def test_a_split_of_the_keys_says_which_and_of_how_many() -> None:
    number = create_ssa_value(IndexType())
    OverOp("j", number, split=number, splits=number).verify()
    with pytest.raises(VerifyException, match="`split` and `of` are given together or not at all"):
        OverOp("j", number, split=number).verify()


SPEC_RULES = [
    ('spec.tensor @y "both" "f32" ["M"]', "the role of a tensor is input, output, inout or workspace, not both"),
    ('spec.tensor @y "input" "float" ["M"]', "float is no element type"),
    ('spec.tensor @y "input" "f32" ["M"] partial', "@y is partial, and a call gives it"),
    ('spec.tensor @y "output" "f32" ["M"] ends @x along 0', "@y is partial along an axis, outside of ends in a table"),
    ('spec.tensor @y "output" "f32" ["M"] partial ends @y along 0', "@y is no table of ends that a call gives"),
    (attn('%w = spec.dim "W"'), "no tensor has an extent made of the dim W"),
    (attn('%w = spec.param "width" : index'), "no parameter is called width and is index"),
    (attn('%w = spec.param "window" : f32'), "no parameter is called window and is f32"),
    (attn("%s = arith.cmpi slt, %i, %M : index\nspec.assume %s"), "an assumption depends on attn.each i"),
]

ATTN_RULES = [
    (attn('%k = attn.over "k" to %N'), "a kernel has at most one attn.over"),
    (
        attn('%p = attn.column "p" to %N\n%r = attn.column "r" to %N'),
        "a kernel has at most one attn.column",
    ),
    (attn('%t = attn.outer "t" to %N\n%u = attn.outer "u" to %N'), "a kernel has at most one attn.outer"),
    (attn('%t = attn.outer "t" to %i'), "the range of t depends on attn.each i"),
    (attn('%t = attn.outer "t" to %N\n%k = attn.each "k" to %t'), "the range of k depends on attn.outer t"),
    (attn("").replace('"j" to %N', '"j" to %N within %M'), "stands within a value that is no attn.outer"),
    (attn('%t = attn.outer "t" to %N', "attn.write @o[%t] = %one : f32"), "what is written depends on attn.outer t"),
    (
        attn("").replace('%j = attn.over "j" to %N', '%t = attn.outer "t" to %N\n%j = attn.over "j" to %t within %t'),
        "the range of j depends on attn.outer t",
    ),
    (attn('%k = attn.each "j" to %N'), "two variables are called j"),
    (attn("", ""), "a kernel writes something: attn.kernel has no attn.write"),
    (
        attn('tile.loop %n = %c0 to %N step %N {\n  %k = spec.dim "N"\n  tile.yield\n}'),
        "the body of a kernel is flat, and tile.loop is not",
    ),
    (attn("attn.scatter @o[%j] = %one over %i along(%i) : f32"), "reduces over a value that is no attn.over"),
    (
        attn("attn.scatter @o[%j] = %one over %j along(%j) : f32"),
        "what rows differ in that meet depends on attn.over j",
    ),
    (
        attn("%v = attn.read @x[%i, %j] : f32\nattn.scatter @o[%j] = %v over %j : f32"),
        "attn.scatter puts several values into one place",
    ),
    (
        attn("%c = arith.cmpi slt, %d, %M : index\nattn.scatter @o[%j] = %one over %j where %c : f32"),
        "whether a key is present depends on attn.axis d",
    ),
    (attn('%k = attn.axis "k" to %i'), "the extent of a feature variable depends on attn.each i"),
    (attn('%k = attn.each "k" to %j'), "the range of k depends on attn.over j"),
    (attn('%k = attn.each "k" to %d'), "the range of k depends on attn.axis d"),
    (attn('%k = attn.each "k" to %N up to %d'), "the range of k depends on attn.axis d"),
    (attn("%v = attn.read @y[%i, %j] : f32"), "no tensor is called @y"),
    (attn("%v = attn.read @o[%i] : f32"), "@o is read by the kernel that writes it, and its programs have no order"),
    (
        attn("%v = attn.read @p[%i] : f32").replace(
            "spec.tensor @o", 'spec.tensor @p "output" "f32" ["M"]\nspec.tensor @o'
        ),
        "@p is read, and no kernel before has written it",
    ),
    (attn("%v = attn.read @x[%i] : f32"), "@x has 2 dimensions, not 1"),
    (attn("%v = attn.read @x[%i, %j] : index"), "an element of @x, which holds f32, is no index"),
    (attn("%v = attn.read @t[%i] : f32"), "an element of @t, which holds i32, is no f32"),
    (attn("%v = attn.read @b[%i] : i8"), "an element of @b, which holds bool, is no i8"),
    (attn("", "attn.write @x[%i, %c0] = %one : f32"), "@x is no output"),
    (attn("", "attn.write @o[%i, %i] = %one : f32"), "@o has 1 dimensions, not 2"),
    (attn("", "attn.write @o[%j] = %one : f32"), "what is written depends on attn.over j"),
    (
        attn("%v = attn.read @x[%i, %d] : f32", "attn.write @o[%i] = %v : f32"),
        "attn.write puts several values into one place",
    ),
    (attn("%v = attn.sum %one over %j : f32"), "reduces over a value that is no attn.axis"),
    (attn("%v = attn.sum %one over %M : f32"), "reduces over a value that is no attn.axis"),
    (attn("%v = attn.axis_max %one over %j : f32"), "reduces over a value that is no attn.axis"),
    (attn("%v = attn.all %yes over %j"), "reduces over a value that is no attn.axis"),
    (attn("%v = attn.top %one where %yes over %j at %d : f32"), "reduces over a value that is no attn.axis"),
    (attn("%v = attn.top %one where %yes over %d at %d : f32"), "is at a value of another attn.axis"),
    (attn("%v = attn.top %one where %yes over %d at %j : f32"), "is at a value of another attn.axis"),
    (attn("%v = attn.softmax %one, %one over %d : f32"), "reduces over a value that is no attn.over"),
    (attn("%v = attn.logsumexp %one over %d : f32"), "reduces over a value that is no attn.over"),
    (attn("%v = attn.total %one over %d : f32"), "reduces over a value that is no attn.over"),
    (attn("%v = attn.max %one over %d : f32"), "reduces over a value that is no attn.over"),
    (attn("%v = attn.min %one over %d : f32"), "reduces over a value that is no attn.over"),
    (attn("%v, %p = attn.argmax %one, %d over %d : f32"), "reduces over a value that is no attn.over"),
    (
        attn("%m, %l, %s = attn.stream %one, (%one) over %d : f32, f32, (f32)"),
        "reduces over a value that is no attn.over",
    ),
    (attn("%m, %l = attn.stream %one, (%one) over %j : f32, f32, ()"), "has as many sums as values"),
    (
        attn("%s = arith.cmpi slt, %d, %j : index\n%v = attn.total %one over %j where %s : f32"),
        "whether a key is present depends on attn.axis d",
    ),
    (attn("").replace("@k {", '@k form "both" {'), "the form of a kernel is whole, split, roles or wide, not both"),
    (
        attn("").replace("@k {", '@k when "0 < 1" unless "0 < 1" {'),
        "runs `when` something holds, unless it does, never runs",
    ),
    (attn("").replace("@k {", '@k when "0 < Q" {'), "no tensor has an extent made of the dim Q"),
]

LOOP = """
%s = tile.broadcast %zero over (%i) : f32 to f32
%r = tile.loop %n = {low} to %N step %c4 iter_args(%a = %s) -> (f32) {{
  {body}
}}"""

HOLDS = """
tile.loop %m0 = %c0 to %N step %c4 {{
  %m = tile.range "m" from %m0 to %N size %c4
  %c = arith.cmpi slt, %m, %N : index
  tile.holds %c over {axis} from %c0 to {stop}
  tile.yield
}}"""


def bounded(bounds: str, body: str) -> str:
    return tile(body).replace("@k {", f"@k bounds {bounds} {{")


def at_home(body: str, stages: str = "", element: str = "f32") -> str:
    """A tile %v, for which there is the home @h."""
    return tile(f"tile.home @h(%c4, %N) {stages} : {element}\n%v = math.exp %y : f32\n{body}")


def placed(body: str) -> str:
    """Rows %p of keys that a table places."""
    return tile(f"%at = tile.load @t[%j] : index\n%p = tile.load @x[%at, %d] : f32\n{body}")


UNPLACED = "names rows in f32 that something computed places, or what lays them end to end"
UNSTREAMED = "names what streamed products alone take"

TILE_RULES = [
    (tile("%p = tile.place [] of(%i0) axes(%i) near()"), "says of each shared integer how often it counts"),
    (tile("%p = tile.place [] of() axes(%i0) near()"), "works over a value that is no tile.range"),
    (
        tile("%p = tile.place [1 : index] of(%j) axes(%i) near()"),
        "what is the same for a tile depends on tile.range j",
    ),
    (
        tile("%c = arith.cmpi slt, %i, %N : index\n%t = tile.top %y where %c over %j at %d : f32"),
        "tile.top ranks what varies along one axis",
    ),
    (
        tile("%c = arith.cmpi slt, %i, %N : index\n%t = tile.top %y where %c over %i0 at %d : f32"),
        "works over a value that is no tile.range",
    ),
    (tile("tile.within %zero from 1.0 to 0.5 : f32"), "goes from a number to one that is no smaller"),
    (
        tile('"tile.within"(%zero) <{low = 0x7ff8000000000000 : f64, high = 1.0 : f64}> : (f32) -> ()'),
        "goes from a number to one that is no smaller",
    ),
    (
        tile("tile.kept %zero : f32"),
        "names tiles that were read, what a select leaves of them, or what they are as floats",
    ),
    (tile("tile.deferred %zero : f32"), UNPLACED),
    (tile("tile.deferred %y : f32"), UNPLACED),
    (placed("tile.deferred %p : f32").replace('@x "input" "f32"', '@x "input" "f16"'), UNPLACED),
    (placed("tile.deferred %p : f32"), UNSTREAMED),
    (placed("%n = arith.negf %p : f32\ntile.deferred %p : f32"), UNSTREAMED),
    (placed("%flat = tile.flatten %p from %j, %d at %c0 to %i : f32 to f32\ntile.deferred %p : f32"), UNSTREAMED),
    (placed("%s = tile.dot %y, %p over %j : f32\ntile.deferred %p : f32"), UNSTREAMED),
    (
        placed("%s = tile.dot %y, %p over %j streamed from 8 : f32\ntile.deferred %p : f32")
        .replace('@x "input"', '@x "inout"')
        .replace("  tile.store @o[%i] = %zero", "  tile.store @x[%i, %c0] = %zero"),
        "names nothing of a tensor that its kernel writes",
    ),
    (
        tile("%s = tile.mask %y along %d with %zero where %yes over %j : f32")
        .replace("%yes", "%c")
        .replace("%s =", "%c = arith.cmpi slt, %i, %j : index\n  %s ="),
        "masks keys of the axis that its tile varies along",
    ),
    (
        tile(
            '%f = tile.range "j" from %c0 to %c4 size %c4\n%s = tile.mask %y along %j with %zero where %c over %f : f32'
        ).replace("%f = tile", "%c = arith.cmpi slt, %i, %j : index\n  %f = tile"),
        "tile.mask masks a tile along one axis, by a condition along a part of it",
    ),
    (tile("%w = tile.widened %y : f32"), "tile.widened is of a tile that tile.kept names"),
    (tile('%w = tile.identity of "sum"'), "is that of a min or a max, not of sum"),
    (tile("tile.launched %i : index"), "names integers of dims, parameters and choices"),
    (tile("tile.wraps %i : index"), "names integers that are the same for a whole tile"),
    (tile("tile.wraps %y : f32"), "names integers that are the same for a whole tile"),
    (tile("tile.unsigned %y : f32"), "names integers"),
    (tile("tile.covers rows %i"), "has rows that a program steps through, several at a time"),
    (
        tile('%c1 = arith.constant 1 : index %b = tile.program "b" to %N step %c1 tile.covers rows %b'),
        "has rows that a program steps through, several at a time",
    ),
    (tile("tile.covers rows %c4"), "has rows that a program steps through, several at a time"),
    (tile("tile.covers keys %i0 by %c4"), "has keys of dims, parameters and the number of splits"),
    (
        tile('%s = spec.choice "KEYS" tile.covers keys %s by %c4'),
        "has keys of dims, parameters and the number of splits",
    ),
    (tile("tile.covers keys %N by %i0"), "has tiles of a size that a launch knows"),
    (tile('"tile.covers"(%N) <{operandSegmentSizes = array<i32: 0, 1, 0>}> : (index) -> ()'), "how many a tile has"),
    (tile("tile.loop %m0 = %c0 to %N step %c4 { tile.covers tile.yield }"), "stands in a kernel, and in no loop"),
    (
        tile('%c = arith.cmpi slt, %i0, %N : index\ntile.threads share "i" where %c'),
        "tells calls apart by their dims and parameters",
    ),
    (
        tile('%c = arith.cmpi slt, %M, %N : index\ntile.threads share "i" where %c'),
        "stands once, before the first program",
    ),
    (
        shared('tile.threads share "i" where %c\n  tile.threads share "i" where %c'),
        "stands once, before the first program",
    ),
    (stepped().replace("adds along(%i0)", "adds within along(%i0)"), STEPS),
    (stepped().replace("@s[%h, %n]", "@s[%h, %h]"), STEPS),
    (stepped().replace("@s[%h, %n]", "@s[%other, %n]"), STEPS),
    (stepped().replace('share "h"', 'share "i"'), STEPS),
    (stepped().replace('steps of "i"', 'steps of "h"'), STEPS),
    (stepped().replace(' in steps of "i"', ""), "gives threads programs that may add to one element"),
    (shared('tile.threads share "j" where %c'), "names a variable of the programs"),
    (
        shared('tile.threads share "i" where %c', store="tile.store @o[%i] = %zero adds along (%i0) : f32"),
        "gives threads programs that may add to one element",
    ),
    (
        tile("", "tile.store @o[%i] = %zero adds along (%h) : f32").replace(
            "  %i0 =",
            """  %c = arith.cmpi slt, %M, %N : index
  %c1 = arith.constant 1 : index
  tile.threads share "i" where %c
  %h = tile.program "h" to %N step %c1
  %i0 =""",
        ),
        "gives threads programs that may add to one element",
    ),
    (
        tile(
            "%c = arith.cmpi slt, %M, %N : index\n"
            'tile.loop %n = %c0 to %N step %c4 {\n  tile.threads share "i" where %c\n  tile.yield\n}'
        ),
        "stands in a kernel, outside of its loops",
    ),
    (
        fused("%z = tile.load @x[%i, %j] : f32 tile.yield %z : f32"),
        "fuses pointwise operations and their reductions, not tile.load",
    ),
    (
        fused("%s = tile.sum %y over %j : f32 to f32 %n = arith.negf %s : f32 tile.yield %n : f32"),
        "arith.negf takes a reduction that is whole when all elements have been passed",
    ),
    (
        fused("%n = arith.negf %a : f32 tile.into @h[%i, %o] = %n : f32 tile.yield %n : f32"),
        "writes over what it reads, in @h",
    ),
    *(
        (
            fused(f"%p = arith.cmpi slt, %part, %M : index {body} tile.yield %m : f32").replace(
                "%t = tile.fused", '%part = tile.range "i" from %i0 to %N size %c4 %t = tile.fused'
            ),
            message,
        )
        for body, message in (
            (f"%n = arith.negf %a : f32 {MASK.format('%n', '%zero')}", ALONE),
            (f"{MASK.format('%a', '%zero')} tile.into @h[%o, %i] = %m : f32", ALONE),
            (f"%s = tile.sum %a over %o : f32 to f32 {MASK.format('%a', '%zero')}", ALONE),
            (f"{MASK.format('%a', '%zero')} {MASK.format('%a', '%zero').replace('%m', '%u')}", ALONE),
            (MASK.format("%a", "%a"), "tile.mask fills with one number"),
        )
    ),
    (fused("tile.yield %y : f32", "%e"), "tells calls apart by their dims and parameters"),
    (fused("tile.yield %c0 : index"), "gives values of other types than what is fused"),
    (fused("%n = arith.negf %y : f32"), "is not a terminator"),
    (tile("").replace("@k {", "@k strided [@z] {"), "no tensor is called @z"),
    (tile("tile.narrow %i : index"), "stands in a kernel that has bounds"),
    (bounded("[]", "tile.narrow %y : f32"), "names integers, and comparisons of integers"),
    (
        bounded("[]", "tile.loop %m0 = %c0 to %N step %c4 { tile.narrow %m0 : index tile.yield }"),
        "names what operations of its block give",
    ),
    (bounded("[1 : index]", ""), "a product begins with how often it counts, which 1 : index does not"),
    (bounded('[["M"]]', ""), "a product begins with how often it counts"),
    (bounded("[[1 : index, 2 : index]]", ""), "a factor is a dim, a parameter or a tensor's stride, not 2 : index"),
    (bounded('[[1 : index, "K"]]', ""), "bounds are of what is declared, which the dim K is not"),
    (bounded("[[1 : index, @x]]", ""), "bounds are of what is declared, which the param x is not"),
    (
        bounded("[[1 : index, [@window, 0 : index]]]", ""),
        "which the stride window is not",
    ),
    (tile("", ""), "a kernel writes something: tile.kernel has no tile.store"),
    (tile('%p = tile.program "p" to %i step %c4'), "the range of p depends on tile.range i"),
    (tile('%p = tile.program "p" to %M up to %i step %c4'), "the range of p depends on tile.range i"),
    (
        tile('tile.loop %n = %c0 to %N step %c4 {\n  %p = tile.program "p" to %N step %c4\n  tile.yield\n}'),
        "tile.program p stands in a loop",
    ),
    (tile('%p = tile.range "p" from %i to %M size %c4'), "the range of p depends on tile.range i"),
    (tile("%p = tile.padded %i"), "the size of an axis depends on tile.range i"),
    (tile("%p = tile.pack %i in 4"), "how many heads are packed depends on tile.range i"),
    (tile("%p = tile.pack %M in 0"), "has a row at least"),
    (tile("%v = tile.load @y[%i] : f32"), "no tensor is called @y"),
    (tile("%v = tile.load @o[%i] : f32"), "@o is read by the kernel that writes it, and its programs have no order"),
    (tile("%v = tile.load @x[%i] : f32"), "@x has 2 dimensions, not 1"),
    (tile("%v = tile.load @t[%i] : i32"), "an element of @t, which holds i32, is no i32"),
    (tile("", "tile.store @x[%i, %c0] = %zero : f32"), "@x is no output"),
    (tile("", "tile.store @o[%i] = %y : f32"), "tile.store puts several values into one place"),
    (tile("%s = tile.broadcast %zero over (%c0) : f32 to f32"), "works over a value that is no tile.range"),
    (tile("%s = tile.broadcast %zero over (%i) : f32 to index"), "gives what it is given, only wider"),
    (
        tile("%s = tile.broadcast %y over (%i) : f32 to f32"),
        "tile.broadcast broadcasts along an axis that its operand already has",
    ),
    (tile("%w = tile.rename_axis %i from %c0 to %j"), "works over a value that is no tile.range"),
    (tile("%w = tile.rename_axis %i from %i to %c0"), "works over a value that is no tile.range"),
    (
        tile("%w = tile.rename_axis %i from %j to %d"),
        "tile.rename_axis makes of an axis of its operand one that is new to it",
    ),
    (
        tile("%w = tile.rename_axis %i from %i to %i"),
        "tile.rename_axis makes of an axis of its operand one that is new to it",
    ),
    (tile("%w = tile.repeat %i from %c0 to %j times 2 : index to index"), "works over a value that is no tile.range"),
    (tile("%w = tile.repeat %i from %i to %c0 times 2 : index to index"), "works over a value that is no tile.range"),
    (
        tile("%w = tile.repeat %i from %j to %d times 2 : index to index"),
        "tile.repeat makes of an axis of its operand one that is new to it",
    ),
    (tile("%w = tile.repeat %i from %i to %d times 2 : index to f32"), "gives the type that it takes"),
    (tile("%w = tile.repeat %i from %i to %d times 0 : index to index"), "repeats each element at least once"),
    (
        tile("%w = tile.flatten %i from %i, %c0 at %c0 to %j : index to index"),
        "works over a value that is no tile.range",
    ),
    (
        tile("%w = tile.flatten %i from %j, %i at %c0 to %d : index to index"),
        "tile.flatten makes of an axis of blocks one that is new to its operand",
    ),
    (
        tile("%w = tile.flatten %y from %i, %d at %c0 to %j : f32 to f32"),
        "tile.flatten makes of an axis of blocks one that is new to its operand",
    ),
    (tile("%w = tile.flatten %i from %i, %j at %i to %d : index to index"), "where blocks are laid depends on"),
    (tile("%w = tile.flatten %i from %i, %j at %c0 to %d : index to f32"), "gives the type that it takes"),
    (tile("%s = tile.sum %y over %c0 : f32 to f32"), "works over a value that is no tile.range"),
    (tile("%s = tile.max %y over %j : f32 to index"), "gives the type that it takes"),
    (tile("%s = tile.sum %y over %d : f32 to f32"), "tile.sum removes an axis that its operand does not vary along"),
    (tile("%s = tile.dot %y, %y over %c0 : f32"), "works over a value that is no tile.range"),
    (
        tile("%s = tile.dot %y, %zero over %j : f32"),
        "both operands of a product vary along the axis that it sums over",
    ),
    (
        tile('%z = tile.load @x[%j, %d] : f32\n%s = tile.dot %y, %z over %j rounded to "f8" : f32'),
        ", not to f8",
    ),
    (
        tile("%z = tile.load @x[%j, %d] : f32\n%s = tile.dot %y, %z over %j in slices of 0 : f32"),
        "a slice has a row at least",
    ),
    (
        tile("%s = tile.dot %y, %y over %j in slices of 8 : f32"),
        "a product of two matrices has rows that can be cut into slices",
    ),
    (
        tile("%z = tile.load @x[%j, %d] : f32\n%s = tile.dot %y, %z over %j streamed from 0 : f32"),
        "a product that is streamed has a multiplication at least",
    ),
    (
        tile("%s = tile.dot %y, %y over %j streamed from 8 : f32"),
        "a product of two matrices has rows that can be cut into slices, or streamed",
    ),
    (tile("tile.home @h(%i) : f32"), "the size of @h depends on tile.range i"),
    (tile("tile.home @h(%c4) stages 0 : index : f32"), "has a stage at least"),
    (
        tile("tile.loop %n = %c0 to %N step %c4 {\n  tile.home @h(%c4) : f32\n  tile.yield\n}"),
        "@h is declared in a loop",
    ),
    (at_home("tile.into @g[%i, %j] = %v : f32"), "no home is called @g"),
    (at_home("tile.home @h(%c4) : f32\ntile.into @h[%i, %j] = %v : f32"), "several homes are called @h"),
    (at_home("tile.into @h[%i, %j] = %y : f32"), "stands right behind the operation that makes its tile"),
    (
        tile('tile.home @h(%N) : index\n%z = tile.range "z" from %c0 to %N size %N\ntile.into @h[%z] = %z : index'),
        "stands right behind the operation that makes its tile",
    ),
    (at_home("tile.into @h[%i, %j] = %v : f32", element="f64"), "@h is a home of f64, not of f32"),
    (at_home("tile.into @h[%i, %i] = %v : f32"), "names the axes of its tile, each once"),
    (at_home("tile.into @h[%i, %j, %j] = %v : f32"), "names the axes of its tile, each once"),
    (at_home("tile.into @h[%j, %i] = %v : f32"), "@h has other sizes than its tile"),
    (at_home("tile.into @h[%i, %j] stage %c0 = %v : f32"), "says which stage of @h it means, if that has any"),
    (at_home("tile.into @h[%i, %j] = %v : f32", "stages 2 : index"), "says which stage of @h it means"),
    (at_home("tile.into @h[%i, %j] stage %i = %v : f32", "stages 2 : index"), "a stage depends on tile.range i"),
    (
        at_home(
            "tile.into @h[%i, %j] = %v : f32\n%z = tile.load @x[%j, %d] : f32\n"
            "%w = tile.dot %v, %z over %j : f32\ntile.into @h[%i, %d] = %w : f32"
        ),
        "tile.dot writes over what it reads: its operand lives in @h, too",
    ),
    (tile("%yes = arith.constant true\ntile.present %yes"), "stands in a loop over keys"),
    (tile('%t = tile.outer "t" to %N'), "'tile.outer' expects parent op"),
    (
        tile(LOOP.format(low="%c0", body='%t = tile.outer "t" to %N\n%u = tile.outer "u" to %N\ntile.yield %a : f32')),
        "a loop is in a nest of two: it has one tile.outer",
    ),
    (
        tile(LOOP.format(low="%c0", body='%t = tile.outer "t" to %i\ntile.yield %a : f32')),
        "the range of t depends on tile.range i",
    ),
    (tile(HOLDS.format(axis="%i", stop="%N")), "stands in the loop over its keys"),
    (tile(HOLDS.format(axis="%m0", stop="%N")), "works over a value that is no tile.range"),
    (tile(HOLDS.format(axis="%m", stop="%m0")), "has ends that the loop does not change"),
    (tile("").replace("@k {", '@k form "both" {'), "the form of a kernel is whole, split, roles or wide, not both"),
    (tile("").replace("@k {", '@k form "wide" {'), 'a kernel of form "wide" stands beside those of its name of forms'),
    (tile(LOOP.format(low="%i", body="tile.yield %a : f32")), "the range of a loop depends on tile.range i"),
    (
        tile(LOOP.format(low="%c0", body="tile.yield %zero : f32")),
        "a loop yields a value with other axes than it starts from (value 0)",
    ),
    (
        tile(LOOP.format(low="%c0", body="%t = arith.addf %a, %y : f32\n  tile.yield %t : f32")),
        "a loop yields a value with other axes than it starts from (value 0)",
    ),
    (tile(LOOP.format(low="%c0", body="tile.yield %n : index")), "values of other types than the loop carries"),
    (tile(LOOP.format(low="%c0", body="tile.yield")), "values of other types than the loop carries"),
    (tile(LOOP.format(low="%c0", body="scf.yield %a : f32")), "'scf.yield' expects parent op to be one of"),
    (
        tile(LOOP.format(low="%c0", body="tile.yield %a : f32").replace("tile.loop", "tile.loop stages 0")),
        "has at least one turn under way at once",
    ),
    (
        tile(
            '"tile.loop"(%c0, %N, %c4, %c0, %N) <{tiles = "some"}> ({\n^b(%n : index):\n  tile.yield\n})'
            " : (index, index, index, index, index) -> ()"
        ),
        "the tiles of a loop are full or mixed, not some",
    ),
    (
        tile(
            '"tile.loop"(%c0, %N, %c4, %c0, %N) ({\n^b(%n : f32):\n  tile.yield\n})'
            " : (index, index, index, index, index) -> ()"
        ),
        "the body of a loop takes an integer and what the loop carries",
    ),
]


@pytest.mark.parametrize(("text", "message"), [*SPEC_RULES, *ATTN_RULES, *TILE_RULES])
def test_rule(text: str, message: str) -> None:
    module = parse_module(text)
    for look in (module.verify, partial(verify, module)):
        with pytest.raises(VerifyException) as raised:
            look()
        assert message in str(raised.value)


EVERY_OP = [
    attn(
        """
        %same = arith.cmpi eq, %M, %N : index
        spec.assume %same
        %w = spec.param "window" : index
        %rows = spec.choice "ROWS" up to %w divides 64 : index
        %mod = spec.mod %M, %N
        %f = spec.to_float %M : f32
        %drawn = spec.random %M, %N : f32
        %g = attn.grid "g" to %N up to %w
        %r = attn.row "r" to %N up to %w
        %c = attn.column "c" to %N up to %w
        %v = attn.read @x[%i, %j] where %yes : f32
        %sum = attn.sum %v over %d : f32
        %top = attn.axis_max %v over %d : f32
        %low = attn.axis_min %v over %d : f32
        %t = attn.axis "t" to %N
        %ranked = attn.top %v where %yes over %d at %t : f32
        %all = attn.all %yes over %d
        %softmax = attn.softmax %v, %v over %j where %yes sink %one : f32
        %lse = attn.logsumexp %v over %j where %yes sink %one : f32
        %total = attn.total %v over %j where %yes : f32
        %max = attn.max %v over %j where %yes : f32
        %min = attn.min %v over %j where %yes : f32
        %argmax, %position = attn.argmax %v, %j over %j where %yes : f32
        %m, %l, %a = attn.stream %v, (%v) over %j where %yes : f32, f32, (f32)
        """,
        "attn.write @o[%i] = %one where %yes : f32\nattn.scatter @o[%j] = %v over %j along(%i) where %yes : f32",
    ).replace(
        '%j = attn.over "j" to %N',
        '%p = attn.outer "p" to %N\n%j = attn.over "j" from %c0 to %N up to %M split %c0 of %N within %p',
    ),
    shared(
        'tile.threads share "i" where %c',
        """
        %yes = arith.constant true
        %pad = tile.padded %N
        %pack = tile.pack %N in 4
        %z = tile.load apart @x[%j, %d] where %yes : f32
        %s = tile.broadcast %zero over (%j) : f32 to f32
        %sum = tile.sum %y over %j : f32 to f32
        %max = tile.max %y over %j : f32 to f32
        %min = tile.min %y over %j : f32 to f32
        %least = arith.cmpi slt, %M, %N : index
        %fused = tile.fused where %least -> (f32) {
          %minus = arith.negf %y : f32
          tile.yield %minus : f32
        }
        %before = arith.cmpi slt, %i, %j : index
        %all = tile.all %before over %j : i1 to i1
        %ranked = tile.top %y where %before over %j at %d : f32
        %dot = tile.dot %y, %z over %j where %yes rounded to "bf16" in slices of 8 streamed from 9 : f32
        %at = tile.load @t[%j] : index
        %rows = tile.load @x[%at, %d] : f32
        %stream = tile.dot %y, %rows over %j streamed from 9 : f32
        tile.deferred %rows : f32
        %batch = tile.dot %y, %y over %j : f32
        %w = tile.rename_axis %i from %i to %j
        %r = tile.repeat %y from %j to %d times 2 : f32 to f32
        %flat = tile.flatten %y from %i, %j at %c0 to %d : f32 to f32
        %l = tile.loop full stages 2 %n = %c0 to %N step %c4 rows from %c0 to %i iter_args(%a = %zero) -> (f32) {
          %p = tile.outer "p" to %M
          tile.present %yes
          %m = tile.range "m" from %n to %N size %c4
          tile.holds %yes over %m from %c0 to %c4
          tile.within %a from 0.0 to 1.0 : f32
          tile.yield %a : f32
        }
        %place = tile.place [2 : index] of(%i0) axes(%i) near(%j)
        tile.home @scores(%c4, %N) : f32
        tile.home @ring(%c4, %N) stages 2 : index : f32
        %v = math.exp %y : f32
        tile.into @scores[%i, %j] = %v : f32
        %u = math.exp %v : f32
        tile.into @ring[%i, %j] stage %c0 = %u : f32
        tile.kept %y : f32
        tile.narrow %i, %before : index, i1
        %wide = tile.widened %y : f32
        %finite = tile.finite %y : f32
        %part = tile.range "j" from %c0 to %c4 size %c4
        %hidden = arith.cmpi slt, %i, %part : index
        %masked = tile.mask %y along %j with %zero where %hidden over %part : f32
        %none = tile.identity of "min"
        tile.launched %N : index
        tile.unsigned %i : index
        tile.wraps %N : index
        tile.covers rows %i0 keys %N by %c4
        """,
        "tile.store @o[%i] = %zero where %yes : f32",
    ).replace(
        "@k {",
        '@k form "whole" schedules [{"ROWS" = 4 : index, "num_warps" = 4 : index}] '
        'bounds [[4 : index], [2 : index, "M", @window], [1 : index, [@x, 1 : index]]] strided [@x] widens by bits {',
    ),
]

SCHEDULED = """{declared}spec.tensor @found "workspace" "i64" ["M"]
tile.kernel @look form "whole" {how} {{
  %M = spec.dim "M"
  %step = {step}
  %i0 = tile.program "{variable}" to %M step %step
  tile.store @found[%i0] = %i0 : index
}}
tile.kernel @k form "{form}" {{
  %M = spec.dim "M"
  %step = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %i0 = tile.program "i" to %M step %step
  %i = tile.range "i" from %i0 to %M size %step
  tile.store @o[%i] = %zero : f32
}}
"""


def scheduled(
    how: str = "scheduled as @k", step: str = "arith.constant 4 : index", variable: str = "i", form: str = "whole"
) -> str:
    return SCHEDULED.format(declared=DECLARED, how=how, step=step, variable=variable, form=form)


def test_a_kernel_may_be_scheduled_as_the_one_behind_it() -> None:
    module = parse_module(scheduled())
    module.verify()
    look, kernel = (op for op in module.body.block.ops if isinstance(op, KernelOp))
    assert look.scheduling is kernel and kernel.scheduling is kernel


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (scheduled(how="scheduled as @other"), "is scheduled as @other, which no kernel right behind it is"),
        (scheduled(how='schedules [{"ROWS" = 4 : index}] scheduled as @k'), "has schedules, and is scheduled as"),
        (scheduled(form="roles"), "runs where @k, which it is scheduled as, does not"),
        (scheduled(variable="m"), "@k has no programs of m that step as its own do"),
        (scheduled(step='spec.choice "ROWS"'), "@k has no programs of i that step as its own do"),
    ],
)
def test_what_it_is_scheduled_as_has_its_tiles(text: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        parse_module(text).verify()


def test_the_cases_have_every_operation() -> None:
    found = {op.name for text in EVERY_OP for op in parse_module(text).walk()}
    assert found >= {op.name for dialect in (SPEC, ATTN, TILE) for op in dialect.operations}


@pytest.mark.parametrize("text", EVERY_OP, ids=["attn", "tile"])
def test_the_type_of_every_operand_is_held(text: str) -> None:
    module = parse_module(text)
    module.verify()
    strange = create_ssa_value(IntegerType(7))
    for op in list(module.walk()):
        if op.name.split(".")[0] in ("spec", "attn", "tile"):
            for position, operand in enumerate(op.operands):
                op.operands[position] = strange
                with pytest.raises(VerifyException):
                    op.verify(verify_nested_ops=False)
                op.operands[position] = operand
    module.verify()


@pytest.mark.parametrize("level", ["attn.kernel", "tile.kernel"])
def test_a_kernel_sees_nothing_from_outside(level: str) -> None:
    write = "attn.write" if level == "attn.kernel" else "tile.store"
    text = f"{DECLARED}%x = arith.constant 0 : index\n{level} @k {{\n  {write} @o[%x] = %y : f32\n}}\n"
    module = parse_module(text.replace("%x = ", "%y = arith.constant 1.0 : f32\n%x = ", 1))
    with pytest.raises(VerifyException, match="IsolatedFromAbove"):
        module.verify()
