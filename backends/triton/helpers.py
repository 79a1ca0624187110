"""What generated kernels may call: each helper's text, put into a file that uses it. The compiler runs none of it."""

from __future__ import annotations

from attndsl.backends.text import helpers_called

HELPERS: dict[str, str] = {
    "_floor_mod": '''
def _floor_mod(a, b):
    """The remainder that has the divisor's sign; Triton's % has the dividend's, and none for -1 of the least number."""
    rest = a % (b + 2 * (b == -1))
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)
''',
    "_floor_div": '''
def _floor_div(a, b):
    """The quotient, rounded down; Triton's // rounds to 0, and has none by -1 of the least number."""
    by = b + 2 * (b == -1)
    quotient = a // by
    rest = a - quotient * by
    return tl.where(b == -1, -a, quotient - ((rest != 0) & ((rest < 0) != (b < 0))))
''',
    "_add": '''
def _add(pointer, value, mask=None):
    """Adds to what no other program adds to, and this one once."""
    tl.store(pointer, tl.load(pointer, mask=mask) + value, mask=mask)
''',
    "_int32": '''
def _int32(place):
    """A place along an axis, as what copies a box takes it."""
    return tl.cast(place, tl.int32)
''',
    "_larger": '''
def _larger(a, b):
    """The larger of two numbers; NaN where one is."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
''',
    "_smaller": '''
def _smaller(a, b):
    """The smaller of two numbers; NaN where one is."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
''',
    "_tan": '''
def _tan(x):
    """The tangent: a sine by a cosine."""
    return tl.sin(x) / tl.cos(x)
''',
    "_random": '''
def _random(seed, offset):
    """Numbers from 0 up to 1: 24 bits of the first word that Philox-4x32-10 makes of a seed as key and an offset."""
    seed, offset = tl.cast(seed, tl.int64), tl.cast(offset, tl.int64)
    low, high = offset.to(tl.uint32), (offset >> 32).to(tl.uint32)
    word, b, c, d = tl.philox(seed, low, high, low * 0, low * 0)
    return (word >> 8).to(tl.float32) * 5.9604644775390625e-08
''',
    "_tanh": '''
def _tanh(x):
    """With an error of one step at 1, near 0 too: what a score or a gate needs."""
    return 1 - 2 / (tl.exp2(2.8853900817779268 * x) + 1)  # 2 log2(e)
''',
    "_from_bf16": '''
def _from_bf16(x):
    """As f32, by its bits: what LLVM sees widened from bf16 and rounded to f16 it computes in f16, of less range."""
    return (x.to(tl.uint16, bitcast=True).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
''',
    "_from_f8e4m3": '''
def _from_f8e4m3(bits):
    """The numbers that bytes encode: a sign, 4 bits of exponent, 3 of mantissa; all ones is NaN."""
    code = bits.to(tl.int32) & 127
    normal = (code + (120 << 3) << 20).to(tl.float32, bitcast=True)
    value = tl.where(code < 8, code.to(tl.float32) / 512, normal)
    value = tl.where(code == 127, float("nan"), value)
    return tl.where(bits > 127, -value, value)
''',
    "_nearest": '''
def _nearest(x, low, high):
    """The nearest whole numbers from `low` to `high`, ties to even; 0 for NaN."""
    x = tl.minimum(tl.maximum(tl.where(x == x, x, 0.0), low), high)
    below = tl.floor(x)
    whole, rest = below.to(tl.int32), x - below
    return whole + ((rest > 0.5) | ((rest == 0.5) & ((whole & 1) == 1))).to(tl.int32)
''',
    "_to_f8": '''
def _to_f8(x, largest, digits: tl.constexpr, lowest: tl.constexpr):
    """The bytes of the nearest floats with so many digits after the point and this lowest exponent, ties to even."""
    size = tl.minimum(tl.abs(x), largest)
    exponent = tl.maximum((size.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 127, lowest)
    steps = size * (127 + digits - exponent << 23).to(tl.float32, bitcast=True)
    below = tl.floor(steps)
    whole, rest = below.to(tl.int32), steps - below
    whole += ((rest > 0.5) | ((rest == 0.5) & ((whole & 1) == 1))).to(tl.int32)
    code = tl.where(x == x, whole + (exponent - lowest << digits), 127)
    negative = x.to(tl.float32).to(tl.int32, bitcast=True) < 0
    return tl.where(negative, code + 128, code).to(tl.uint8)
''',
    "_from_f8e5m2": '''
def _from_f8e5m2(bits):
    """The numbers that bytes encode: the upper halves of f16 numbers."""
    return (bits.to(tl.int16) << 8).to(tl.float16, bitcast=True).to(tl.float32)
''',
}
"""Each is decorated with triton.jit in the file."""


def helpers_text(kernels: str) -> str:
    """The text of the helpers that the text of kernels calls."""
    return "".join(f"\n\n@triton.jit{HELPERS[name]}" for name in helpers_called(HELPERS, kernels))
