"""What generated files may call: the text of each helper, put into the files that use it."""

from __future__ import annotations

PRELUDE: dict[str, str] = {
    "_alone": '''
def _alone(tiles, worth):
    """Computes all tiles here. Another `_run` may call `tiles` in several threads, each with those that are its own."""
    tiles(iter)
''',
    "_alone_in_steps": '''
class _All:
    """Tells who computes all tiles that they are its own, and has nothing to wait for."""

    __call__ = steps = staticmethod(iter)

    def wait(self, place):
        """Returns when the tile of the step before is past a place, to which it then adds no more."""

    def past(self, place):
        """This tile is."""


def _alone_in_steps(tiles, worth):
    """Computes all tiles here. Another `_run` may call `tiles` in several threads, each with those that are its own."""
    tiles(_All())
''',
    "_compiled": '''
_LOOPS = {}


def _compiled(function, *rules):
    """Leaves a function of plain loops to Numba, which compiles it when it is first called, by more `rules` of LLVM."""
    rules = {"contract", *rules}
    _LOOPS[function.__name__] = lambda numba: numba.njit(nogil=True, error_model="numpy", fastmath=rules)(function)
    return function
''',
    "_exp": '''
@_compiled
def _exp(x):
    """exp(x) of a float32 number, off by less than two units in the last place; 0 where that is below all normal ones.

    2**n times exp(rest), a polynomial: loops over it become vector instructions, as those over math.exp do not.
    """
    n = np.floor(x * np.float32(1.442695))
    rest = x - n * np.float32(0.69314575) - n * np.float32(1.4286068e-06)
    exp = np.float32(0.0077922726) + rest * np.float32(0.0019487701)
    exp = np.float32(0.16661014) + rest * (np.float32(0.041914992) + rest * exp)
    exp = np.float32(0.99999982) + rest * (np.float32(0.50000584) + rest * exp)
    exp = (np.float32(1) + rest * exp) * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    exp = np.float32(0) if x < np.float32(-87.33654) else exp  # what is made of n there is no power of 2
    exp = np.float32(np.inf) if x > np.float32(88.72283) else exp
    return exp if x == x else x
''',
    "_has_numba": '''
@cache
def _has_numba():
    """Whether Numba is installed: it is imported when a tile is large enough to wait for that."""
    try:
        import numba
    except ImportError:
        return False
    for name, made in _LOOPS.items():
        globals()[name] = made(numba)
    return True
''',
    "_int64": '''
def _int64(number):
    """What an integer is in 64 bits, which wrap; Python's have no bounds."""
    return (number + 2**63) % 2**64 - 2**63
''',
    "_read": '''
def _read(tensor, where, *indices):
    """tensor[indices] where `where` holds, 0 elsewhere; reads nothing outside the tensor."""
    if np.all(where) and np.broadcast(*indices).shape == np.broadcast(where, *indices).shape:
        return tensor[indices]
    where, *indices = np.broadcast_arrays(where, *indices)
    rest = tensor.shape[len(indices) :]
    if tensor.size == 0:
        return np.zeros(where.shape + rest, tensor.dtype)
    values = tensor[tuple(np.where(where, index, 0) for index in indices)]
    return np.where(where.reshape(where.shape + (1,) * len(rest)), values, tensor.dtype.type(0))
''',
    "_top": '''
def _top(scores, present, places):
    """For each row, where its largest scores stand: NaN first, for which it says -1, then by score and place."""
    scores, present = np.broadcast_arrays(scores, present)
    for row in np.ndindex(places.shape[:-1]):
        where = np.flatnonzero(present[row])
        found, first = scores[row][where], 0
        if (odd := np.isnan(found)).any():
            where, found, first = where[~odd], found[~odd], np.count_nonzero(odd)
        count = max(0, places.shape[-1] - first)
        if 0 < count < found.size:
            least = np.partition(found, -count)[-count]
            larger = np.flatnonzero(found > least)
            equal = np.flatnonzero(found == least)[: count - larger.size]
            order = np.concatenate([larger[np.argsort(-found[larger], kind="stable")], equal])
        else:
            order = np.argsort(-found, kind="stable")[:count]
        places[row][first : first + order.size] = where[order]
    return places
''',
    "_laid": '''
def _laid(blocks, start, stop, axis=0):
    """What lies from `start` up to `stop` where blocks, of the places of the next axis each, are laid end to end."""
    shape = blocks.shape
    flat = blocks.reshape(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
    return flat[(slice(None),) * axis + (slice(start, stop),)]
''',
    "_write": '''
def _write(tensor, where, values, *indices):
    """tensor[indices] = values where `where` holds."""
    where, values, *indices = np.broadcast_arrays(where, values, *indices)
    tensor[tuple(index[where] for index in indices)] = values[where]
''',
    "_add": '''
def _add(tensor, where, values, *indices):
    """Adds values to tensor[indices] where `where` holds; those of one place add up."""
    where, values, *indices = np.broadcast_arrays(where, values, *indices)
    np.add.at(tensor, tuple(index[where] for index in indices), values[where])
''',
    "_by_eights": '''
def _by_eights(a, b, out=None):
    """a @ b, eight rows of it at a time: of so small a product OpenBLAS packs no operand, where CPUs have AVX-512."""
    rows, terms = a.shape[-2:]
    columns = b.shape[-1]
    if rows % 8 or columns < 32 or 8 * terms * columns > 10**6 or b.strides[-1] != b.itemsize:  # all else as a whole
        return np.matmul(a, b, out=out)
    slices = None if out is None else out.reshape(*out.shape[:-2], rows // 8, 8, columns)
    product = np.matmul(a.reshape(*a.shape[:-2], rows // 8, 8, terms), b[..., None, :, :], out=slices)
    return product.reshape(*product.shape[:-3], rows, columns)
''',
    "_fetch": '''
def _fetch(rows, row, column):
    """Has memory bring near what is read soon. Nobody waits for that, and past the end of an array nothing is read."""


def _fetching(numba):
    """What a compiled loop has in its place: an instruction. Loops that Numba leaves to Python have none."""
    if numba.config.DISABLE_JIT:
        return _fetch
    from llvmlite.ir import FunctionType, IntType, VoidType
    from numba.core import cgutils
    from numba.extending import intrinsic

    whole, place = IntType(32), IntType(8).as_pointer()
    kind = FunctionType(VoidType(), [place, whole, whole, whole])

    def put(context, builder, signature, arguments):
        rows = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = cgutils.get_item_pointer(context, builder, signature.args[0], rows, arguments[1:])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(prefetch, [builder.bitcast(address, place), whole(0), whole(3), whole(1)])  # to read data, soon
        return context.get_dummy_value()

    return intrinsic(lambda context, rows, row, column: (numba.void(rows, numba.intp, numba.intp), put))


_LOOPS["_fetch"] = _fetching
''',
    "_row_products": '''
def _row_products(rows, few, out):
    """The products of rows with a few others, of these four at once: a row is read from memory once."""
    fours, width, line = len(few) // 4 * 4, rows.shape[1], 64 // rows.itemsize
    ahead = 4 + 8192 // max(width * rows.itemsize, 1)
    for j in range(len(rows)):
        if j & 3 == 0 and line < 64:  # bytes take longer to widen than to come
            for x in range(0, 4 * width, line):
                _fetch(rows, j + ahead, x)
        for i in range(0, fours, 4):
            a = b = c = d = np.float32(0)
            for x in range(width):
                number = np.float32(rows[j, x])
                a += number * few[i, x]
                b += number * few[i + 1, x]
                c += number * few[i + 2, x]
                d += number * few[i + 3, x]
            out[j, i], out[j, i + 1], out[j, i + 2], out[j, i + 3] = a, b, c, d
        for i in range(fours, len(few)):
            a = np.float32(0)
            for x in range(width):
                a += np.float32(rows[j, x]) * few[i, x]
            out[j, i] = a


_compiled(_row_products, "reassoc", "nsz")  # sums in the order of vector instructions
''',
    "_row_sums": '''
@_compiled
def _row_sums(rows, weights, out):
    """The sums of rows by a few columns of weights: of 512 rows each, so that none grows far beyond its terms."""
    part, width, line = np.empty(out.shape, np.float32), rows.shape[1], 64 // rows.itemsize
    ahead = 4 + 8192 // max(width * rows.itemsize, 1)
    out[:] = 0
    for start in range(0, len(rows), 512):
        part[:] = 0
        stop = min(start + 512, len(rows))
        for j in range(start, stop - 1, 2):
            if j & 3 == 0 and line < 64:  # bytes take longer to widen than to come
                for x in range(0, 4 * width, line):
                    _fetch(rows, j + ahead, x)
            for i in range(len(out)):
                a, b = weights[j, i], weights[j + 1, i]
                for x in range(width):
                    part[i, x] += a * np.float32(rows[j, x]) + b * np.float32(rows[j + 1, x])
        if (stop - start) % 2:
            for i in range(len(out)):
                for x in range(width):
                    part[i, x] += weights[stop - 1, i] * np.float32(rows[stop - 1, x])
        out += part
''',
    "_streamed": '''
def _streamed(a, b, least, product=np.matmul, out=None):
    """a @ b; where one has few rows, by a loop that reads the other once, in its own type, if that is `least` products.

    A library reads what it multiplies several times, which takes longer than the products.
    """
    (rows, terms), columns = a.shape[-2:], b.shape[-1]
    turned = rows < columns
    many, others, number, few = (b.mT, a.mT, columns, rows) if turned else (a, b, rows, columns)
    batch, whole = many.shape[:-2], many.dtype == np.float32
    along = abs(many.strides[-1]) < abs(many.strides[-2])  # a row, as it lies in memory, has what is summed
    rows, others = (many, others.mT) if along else (many.mT, others)
    # Between two rows others may lie, of other heads: a loop would want a copy.
    between = whole and batch[-1:] > (1,) and abs(rows.strides[-3]) < abs(rows.strides[-2])
    counted = number * terms * max(few, 2 if whole else 4)
    if few > 8 or between or counted < least or others.shape[:-2] != batch or not _has_numba():
        return product(a.astype(np.float32, copy=False), b.astype(np.float32, copy=False), out=out)
    found = np.empty((*batch, *((number, few) if along else (few, number))), np.float32)
    for place in np.ndindex(batch):
        other = np.ascontiguousarray(others[place], np.float32)
        (_row_products if along else _row_sums)(np.ascontiguousarray(rows[place]), other, found[place])
    found = found.mT if along == turned else found
    if out is None:
        return found
    out[...] = found
    return out
''',
    "_dot_where": '''
def _dot_where(weights, values, where, product=np.matmul):
    """weights @ values; where `where` is false the weights are 0, and NaN or Inf among the values stays out."""
    # A row that sees only numbers is summed as it would be without the others, to the bit.
    product = product(weights, np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0))
    weights, values = (np.broadcast_to(each, (*product.shape[:-2], *each.shape[-2:])) for each in (weights, values))
    where = np.broadcast_to(where, weights.shape)
    odd = ~np.isfinite(values).all(axis=-1)
    for row in zip(*np.nonzero((where & odd[..., None, :]).any(axis=-1) | ~np.isfinite(product).all(axis=-1))):
        product[row] = weights[row][where[row]] @ values[row[:-1]][where[row]]
    return product
''',
    "_erf": '''
def _erf(numbers):
    """The error function, number by number: NumPy has none."""
    from math import erf

    numbers = np.asarray(numbers)
    return np.vectorize(erf, otypes=[numbers.dtype])(numbers)[()]
''',
    "_random": '''
def _random(seed, offset):
    """Numbers from 0 up to 1: 24 bits of the first word that Philox-4x32-10 makes of a seed as key and an offset."""
    seed, offset = (np.asarray(number, np.int64).astype(np.uint64) for number in (seed, offset))
    word = 2**32 - 1
    (a, b), (c, d) = (offset & word, offset >> 32), np.zeros(2, np.uint64)
    key, other = seed & word, seed >> 32
    for _ in range(10):
        first, second = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = second >> 32 ^ b ^ key, second & word, first >> 32 ^ d ^ other, first & word
        key, other = key + 0x9E3779B9 & word, other + 0xBB67AE85 & word
    return (a >> 8).astype(np.float32) * np.float32(2**-24)
''',
    "_from_f16": '''
def _from_f16(numbers):
    """float32 numbers from float16 ones, by their bits: NumPy widens one at a time."""
    bits = numbers.view(np.int16)
    if bits.size < 8000 or bits.max() >= 0x7C00 or bits.view(np.uint16).max() >= 0xFC00:  # few, or Inf or NaN
        return numbers.astype(np.float32)
    # The sign and 15 bits in their places; what is left is a factor, as float32's exponents count from 112 less.
    wide = bits.astype(np.int32)
    wide <<= 13
    wide &= -0x70000001
    wide = wide.view(np.float32)
    wide *= np.float32(2.0**112)
    return wide
''',
    "_widen": '''
@_compiled
def _widen(bits, wide):
    """float32 numbers from the bits of float16 ones, as `_from_f16` makes them, and Inf and NaN."""
    for j in range(bits.shape[0]):
        for x in range(bits.shape[1]):
            number = np.int32(bits[j, x])
            placed = np.int32(np.int32(number << np.int32(13)) & np.int32(-0x70000001))
            odd = np.int32(placed | np.int32(0x70000000)).view(np.float32)
            finite = placed.view(np.float32) * np.float32(2.0**112)
            wide[j, x] = odd if (number & 0x7C00) == 0x7C00 else finite
''',
    "_from_many_f16": '''
def _from_many_f16(numbers, least):
    """float32 numbers from float16 ones: of matrices with so many, row by row, by a loop that is compiled."""
    by_rows = numbers.ndim > 1 and abs(numbers.strides[-1]) <= abs(numbers.strides[-2])
    if not by_rows or numbers.shape[-2] * numbers.shape[-1] < least or not _has_numba():
        return _from_f16(numbers)
    bits, wide = numbers.view(np.int16), np.empty(numbers.shape, np.float32)
    for place in np.ndindex(numbers.shape[:-2]):
        _widen(np.ascontiguousarray(bits[place]), wide[place])
    return wide
''',
    "_from_bf16": '''
def _from_bf16(bits):
    """float32 numbers from the bits of bfloat16 ones."""
    wide = np.asarray(bits).astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)[()]
''',
    "_to_bf16": '''
def _to_bf16(numbers):
    """The bits of numbers as bfloat16, rounded to nearest, ties to even."""
    numbers = np.asarray(numbers)
    near = numbers.astype(np.float32, copy=False)
    bits = near.view(np.uint32)
    if numbers.dtype == np.float64:  # to odd: towards 0, and what was cut off sets the last bit, so that it is no tie
        bits = np.where(near == numbers, bits, (bits - (np.abs(near) > np.abs(numbers))) | 1)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(numbers), 0x7FC0, rounded).astype(np.uint16)
''',
    "_to_f8": '''
def _to_f8(numbers, largest, digits, lowest):
    """The bytes of the nearest floats with so many digits after the point and this lowest exponent, ties to even."""
    numbers = np.asarray(numbers)
    size = np.minimum(np.abs(numbers), largest)
    exponent = np.frexp(np.maximum(size, 2.0**lowest))[1] - 1
    steps = np.rint(np.ldexp(size, digits - exponent))  # carries into the exponent where all digits are ones
    code = np.where(np.isnan(size), 127, steps + ((exponent - lowest) << digits))
    return (code + 128 * np.signbit(numbers)).astype(np.uint8)
''',
    "_nearest": '''
def _nearest(numbers, low, high):
    """The nearest whole numbers from `low` to `high`, ties to even; 0 for NaN."""
    return np.rint(np.clip(np.where(np.isnan(numbers), 0, numbers), low, high))
''',
    "_F8E4M3": """
_F8E4M3 = np.array(
    [
        (-1 if code & 128 else 1)
        * (np.nan if code & 127 == 127 else ((code & 7) + 8 * (code & 120 > 0)) * 2.0 ** (max(code >> 3 & 15, 1) - 10))
        for code in range(256)
    ],
    np.float32,
)
""",
    "_F8E5M2": """
_F8E5M2 = (np.arange(256, dtype=np.uint16) << 8).view(np.float16).astype(np.float32)
""",
}
