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
    "_deferred": '''
class _Deferred:
    """What `_read` gives of a tensor, left where it lies until somebody asks for it: rows along its last axis.

    `begins` counts the tensor's numbers up to each row; -1: there is none, and it is 0. All other axes may be cut, laid
    end to end and put in another order.
    """

    def __init__(self, tensor, begins, turned=False):
        self.tensor, self.begins, self.turned = tensor, begins, turned
        *rows, width = *begins.shape, tensor.shape[-1]
        self.shape = (*rows[:-1], width, rows[-1]) if turned else (*rows, width)
        self.size, self.dtype = begins.size * width, tensor.dtype

    @property
    def mT(self):
        return _Deferred(self.tensor, self.begins, not self.turned)

    T = mT

    def transpose(self, *axes):
        return _Deferred(self.tensor, self.begins.transpose(axes[:-1]))

    def reshape(self, *shape):
        return _Deferred(self.tensor, self.begins.reshape(shape[:-1]))

    def __getitem__(self, place):
        return _Deferred(self.tensor, self.begins[place], self.turned)

    def __array__(self, dtype=None, copy=None):
        number, width = max(self.begins.max(initial=0), 0) + 1, self.tensor.shape[-1]
        rows = np.lib.stride_tricks.as_strided(self.tensor, (number, width), (self.tensor.itemsize,) * 2)
        rows = rows[np.maximum(self.begins, 0)]
        rows[self.begins < 0] = 0
        return (rows.mT if self.turned else rows).astype(dtype or self.dtype, copy=False)

    def times(self, others, few):
        """The product with a few columns, by a loop over rows where they lie."""
        tensor, begins, along = self.tensor, self.begins, not self.turned
        heads, count, width = *((1,) + begins.shape)[-2:], tensor.shape[-1]
        others = np.ascontiguousarray(others.mT if along else others, np.float32)
        others = others.reshape(-1, heads, *others.shape[-2:])
        reach = (max(begins.max(), 0) + width,)
        numbers = np.lib.stride_tricks.as_strided(tensor, reach, (tensor.itemsize,), writeable=False)
        found = np.empty((len(others), heads, *((count, few) if along else (few, width))), np.float32)
        for part in zip(begins.reshape(-1, heads, count), others, found):
            (_products_apart if along else _sums_apart)(numbers, *part)
        found = found.reshape(*self.shape[:-2], *found.shape[2:])
        return found if along else found.mT

    def with_numbers(self, numbers):
        """The same rows of other numbers, which a loop takes in the same order."""
        places = np.arange(self.begins.size).reshape(self.begins.shape) * numbers.shape[-1]
        return _Deferred(np.ascontiguousarray(numbers), np.where(self.begins < 0, -1, places))


def _deferred(few, least, tensor, where, *indices):
    """What `_read` gives of it, to be read when up to 4 rows are multiplied by it, if that are `least` numbers.

    More are multiplied faster by what has been gathered, as are short ones, of fewer than 32 where `least` is 2**18.
    """
    number, width = max(map(np.size, (where, *indices))), tensor.shape[-1]
    for extent in tensor.shape[len(indices) :]:
        number *= extent
    odd = tensor.strides[-1] != tensor.itemsize or any(step < 0 or step % tensor.itemsize for step in tensor.strides)
    if few > 4 or width * 8192 < least or number < max(least, 1) or tensor.size == 0 or odd:
        return _read(tensor, where, *indices)
    steps = [stride // tensor.itemsize for stride in tensor.strides]
    begins, where = np.asarray(sum(index * step for index, step in zip(indices, steps))), np.asarray(where)
    for extent, step in list(zip(tensor.shape, steps))[len(indices) : -1]:
        begins, where = begins[..., None] + np.arange(extent) * step, where[..., None]
    return _Deferred(tensor, np.where(where, begins, -1))
''',
    "_like": '''
def _like(rows, numbers):
    """Numbers that are to be multiplied as rows are that may be deferred."""
    return numbers if isinstance(rows, np.ndarray) else rows.with_numbers(numbers)
''',
    "_fetch": '''
def _fetch(numbers, place):
    """Has memory bring near what is read soon. Nobody waits for that, and past the end of an array nothing is read."""


def _fetching(numba):
    """What a compiled loop has in its place: an instruction. Loops that Numba leaves to Python have none."""
    if numba.config.DISABLE_JIT:
        return _fetch
    from llvmlite.ir import FunctionType, IntType, VoidType
    from numba.core import cgutils
    from numba.extending import intrinsic

    whole, byte = IntType(32), IntType(8).as_pointer()
    kind = FunctionType(VoidType(), [byte, whole, whole, whole])

    def put(context, builder, signature, arguments):
        numbers = context.make_array(signature.args[0])(context, builder, arguments[0])
        places = cgutils.unpack_tuple(builder, arguments[1])
        address = cgutils.get_item_pointer(context, builder, signature.args[0], numbers, places)
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(prefetch, [builder.bitcast(address, byte), whole(0), whole(3), whole(1)])  # to read data, soon
        return context.get_dummy_value()

    return intrinsic(lambda context, numbers, place: (numba.void(numbers, place), put))


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
                _fetch(rows, (j + ahead, x))
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
    """The sums of rows by a few columns of weights, of these four at once.

    They are made of sums of 512 rows, so that none grows far beyond its terms.
    """
    fours, width, line = len(out) // 4 * 4, rows.shape[1], 64 // rows.itemsize
    ahead = 4 + 8192 // max(width * rows.itemsize, 1)
    a, b = np.empty(width, np.float32), np.empty(width, np.float32)
    c, d = np.empty(width, np.float32), np.empty(width, np.float32)
    parts = a, b, c, d  # arrays of their own: loops over rows of one are slower
    out[:] = 0
    for start in range(0, len(rows), 512):
        stop = min(start + 512, len(rows))
        for i in range(len(out)):
            if i < fours and i % 4:
                continue
            for part in parts:
                part[:] = 0
            for j in range(start, stop - 1, 2):
                if i == 0 and j & 3 == 0 and line < 64:  # bytes take longer to widen than to come
                    for x in range(0, 4 * width, line):
                        _fetch(rows, (j + ahead, x))
                if i < fours:
                    p, q, r, s = weights[j, i], weights[j, i + 1], weights[j, i + 2], weights[j, i + 3]
                    k = j + 1
                    t, u, v, w = weights[k, i], weights[k, i + 1], weights[k, i + 2], weights[k, i + 3]
                    for x in range(width):
                        number, other = np.float32(rows[j, x]), np.float32(rows[k, x])
                        a[x] += p * number + t * other
                        b[x] += q * number + u * other
                        c[x] += r * number + v * other
                        d[x] += s * number + w * other
                else:
                    p, t = weights[j, i], weights[j + 1, i]
                    for x in range(width):
                        a[x] += p * np.float32(rows[j, x]) + t * np.float32(rows[j + 1, x])
            for n in range(4 if i < fours else 1):
                if (stop - start) % 2:
                    for x in range(width):
                        parts[n][x] += weights[stop - 1, i + n] * np.float32(rows[stop - 1, x])
                out[i + n] += parts[n]
''',
    "_products_apart": '''
def _products_apart(numbers, begins, few, out):
    """`_row_products` of rows that lie apart, as those of many heads do, key by key."""
    count, fours, width, line = out.shape[1], few.shape[1] // 4 * 4, few.shape[2], 64 // numbers.itemsize
    ahead = 1 + 8192 // (len(begins) * width * numbers.itemsize)
    for j in range(count):
        following = min(j + ahead, count - 1)
        for h in range(len(begins)):
            for x in range(0, width, line):
                _fetch(numbers, (begins[h, following] + x,))
            if begins[h, j] < 0:  # it is nowhere
                out[h, j] = 0
                continue
            begin = np.uint64(begins[h, j])  # of a number that may be negative Numba would ask that for each x
            for i in range(0, fours, 4):
                a = b = c = d = np.float32(0)
                for x in range(width):
                    number = np.float32(numbers[begin + np.uint64(x)])
                    a += number * few[h, i, x]
                    b += number * few[h, i + 1, x]
                    c += number * few[h, i + 2, x]
                    d += number * few[h, i + 3, x]
                out[h, j, i], out[h, j, i + 1], out[h, j, i + 2], out[h, j, i + 3] = a, b, c, d
            for i in range(fours, few.shape[1]):
                a = np.float32(0)
                for x in range(width):
                    a += np.float32(numbers[begin + np.uint64(x)]) * few[h, i, x]
                out[h, j, i] = a


_compiled(_products_apart, "reassoc", "nsz")
''',
    "_sums_apart": '''
@_compiled
def _sums_apart(numbers, begins, weights, out):
    """`_row_sums` of rows that lie apart, as those of many heads do, key by key."""
    (heads, count), columns, width, line = begins.shape, out.shape[1], out.shape[2], 64 // numbers.itemsize
    fours = columns // 4 * 4
    ahead = 2 + 8192 // (heads * width * numbers.itemsize)
    parts = np.empty((4, heads, width), np.float32)
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    out[:] = 0
    for start in range(0, count, 512):
        for i in range(columns):
            if i < fours and i % 4:
                continue
            parts[:] = 0
            for j in range(start, min(start + 512, count), 2):
                after, following = min(j + 1, count - 1), min(j + ahead, count - 1)
                for h in range(heads):
                    for x in range(0, width, line):
                        _fetch(numbers, (begins[h, following] + x,))
                        _fetch(numbers, (begins[h, following - 1] + x,))
                    if after == j or begins[h, j] < 0 or begins[h, after] < 0:  # one is the last, or is nowhere
                        for k in range(j, after + 1):
                            if begins[h, k] >= 0:
                                for n in range(4 if i < fours else 1):
                                    for x in range(width):
                                        number = np.float32(numbers[np.uint64(begins[h, k]) + np.uint64(x)])
                                        parts[n, h, x] += weights[h, k, i + n] * number
                        continue
                    begin, then = np.uint64(begins[h, j]), np.uint64(begins[h, after])
                    if i < fours:
                        p, q, r, s = weights[h, j, i], weights[h, j, i + 1], weights[h, j, i + 2], weights[h, j, i + 3]
                        t, u = weights[h, after, i], weights[h, after, i + 1]
                        v, w = weights[h, after, i + 2], weights[h, after, i + 3]
                        for x in range(width):
                            number = np.float32(numbers[begin + np.uint64(x)])
                            other = np.float32(numbers[then + np.uint64(x)])
                            a[h, x] += p * number + t * other
                            b[h, x] += q * number + u * other
                            c[h, x] += r * number + v * other
                            d[h, x] += s * number + w * other
                    else:
                        p, t = weights[h, j, i], weights[h, after, i]
                        for x in range(width):
                            number = np.float32(numbers[begin + np.uint64(x)])
                            a[h, x] += p * number + t * np.float32(numbers[then + np.uint64(x)])
            for n in range(4 if i < fours else 1):
                for h in range(heads):
                    out[h, i + n] += parts[n, h]
''',
    "_streamed": '''
def _streamed(a, b, least, product=np.matmul, out=None):
    """a @ b; where one has few rows, by loops that read the other once, in its own type, if that is `least` products.

    A library reads what it multiplies several times, which takes longer than the products. What has been deferred is
    multiplied so however much of it is left.
    """
    (rows, terms), columns = a.shape[-2:], b.shape[-1]
    turned = rows < columns
    many, others, number, few = (b.mT, a.mT, columns, rows) if turned else (a, b, rows, columns)
    lies, found = isinstance(many, np.ndarray), None
    counted = number * terms * max(few, 2 if many.dtype == np.float32 else 4)
    enough = counted >= least if lies else many.size * few > 0  # what is deferred has been found to be
    if few <= 8 and enough and others.shape[:-2] == many.shape[:-2] and _has_numba():
        found = _by_rows(many, others, few) if lies else many.times(others, few)
    if found is None:
        return product(np.asarray(a, np.float32), np.asarray(b, np.float32), out=out)
    found = found.mT if turned else found
    if out is None:
        return found
    out[...] = found
    return out
''',
    "_by_rows": '''
def _by_rows(many, others, few):
    """many @ others, of few columns, by a loop over rows; None where others lie between them: it would want a copy."""
    batch, (number, terms) = many.shape[:-2], many.shape[-2:]
    along = abs(many.strides[-1]) < abs(many.strides[-2])  # a row, as it lies in memory, has what is summed
    rows, others = (many, others.mT) if along else (many.mT, others)
    if many.dtype == np.float32 and batch[-1:] > (1,) and abs(rows.strides[-3]) < abs(rows.strides[-2]):
        return None
    found = np.empty((*batch, *((number, few) if along else (few, number))), np.float32)
    for place in np.ndindex(batch):
        other = np.ascontiguousarray(others[place], np.float32)
        (_row_products if along else _row_sums)(np.ascontiguousarray(rows[place]), other, found[place])
    return found if along else found.mT
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
