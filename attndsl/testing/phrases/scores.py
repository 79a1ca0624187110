"""Scores, and functions of a number."""

from __future__ import annotations

SCORES = """
scoring
    9 | {product} / sqrt(D)
    2 | {product}
    2 | {product} * w + {bias}
    tanh({product} / 3.0) * 2.0 - {slope} * abs(i - j)
    {product} - exp2(-8.0 * (h + 1) / H) * abs(j - i)
    2 | {product} / sqrt(D) - {slope} * (i - j)
    3 | temper[] * tanh({product} / 3.0)
    (if {atom} then {product} else {bias})
    5 | {product} / sqrt(D) + {curve}
    -{product} * rsqrt(D + 1.0)
    maximum({product}, {bias}) - minimum(1.0, w * (j % 3))
    {bias} * rsqrt(1.0 + abs(j))
    {product} / sqrt(D) - random(salt[], {hash})
    2 | {product} * random(seed, (b * M + i) * N + j)
    {product} + sum(r in R, s in 2) wave[h, r, s] * cos(0.5 * (r + s + (i - j) % 8))
    2 | {product} / (1.0 + max(d in D) abs({compared_element}))
    {product} - min(r in R, s in 2) (wave[h, r, s] * f32((r + s + i - j) % 8))
    2 | +{product} - f32((i ^ j) & 3) * 1e-1
    2 | {product} / sqrt(D) - f32({hash} % 1024) * 1e-3
    {product} * 0.1 + f32({hash}) * 1e-19
product
    9 | {query} . {key}
    3 | row . col
    (row * turn[i, :] + row_half * shift[i, :]) . col
    ({query} . {key} + late[b, h, :] . late_key[b, {near}, :])
    (code[h, :] . k_small[b, {head}, at, :]) * 1e-4
    row . (form[:, :] . {key})
    (sum(d in D, r in D) row[d] * form[d, r] * col[r])
    (row * rsqrt(row . row + 1e-6)) . col
    2 | {query} . {key} * rsqrt(col . col + 1.0)
    2 | row . col * rsqrt(col . col + 1.0)
compared_element
    col[d]
    row[d]
    row[d] * col[d]
product@found
    {query} . {key}
    row . col
product@joined
    {query} . {key}
    row . col
bias
    bias[h, i, {near}]
    bias_step[step[minimum(abs(i - j), W - 1)], h] + bias[h, i, {near}]
    bias_shared[i, {near}] * {slope}
slope
    slope[h]
    0.1
    temper[]
    temper_f8[]
    f32(salt_small[]) * 0.01
x
    3 | {product} / sqrt(D)
    {bias}
    {slope}
"""

HASHES = """
hash
    (seed * seed + j)
    2 | (seed * 6364136223846793005 + j)
    ((i * 3037000507 + h) * (seed ^ j))
    (({row_hash} ^ j) >> 13)
    ({row_hash} + j * 2654435761)
    ((seed << 33) - j)
    ((j + 1) * (seed - i))
row_hash
    (seed * seed)
    2 | (seed * 6364136223846793005 + i)
    (salt[] * 0x5851F42D4C957F2D + h)
    ((i + 1) * 6364136223846793005 >> 7)
    (abs(seed * 3) - h)
    ((-seed << 2) ^ i)
    (salt[] * salt[] - salt[])
    (if flag then seed * 5 else i)
"""
"""Numbers such as only wrap: they are compared with nothing before a remainder, or some of their bits, is taken."""

CURVES = """
curve
    sigmoid({x})
    tanh({x})
    erf({x})
    relu({x})
    exp(-abs({x}))
    exp2(minimum({x}, 1.0))
    log(abs({x}) + 0.5)
    log2(abs({x}) + 1.0)
    sqrt(abs({x}) + 0.5)
    rsqrt(abs({x}) + 0.5)
    sin({x})
    cos({x})
    tan({x}) * 0.1
    floor({x}) * 0.25
    maximum({x}, 0.5)
    {x} / 3.0
    {x} * 0.7978846
    (if {x} < 0.0 then 0.1 * {x} else 0.5 * {x})
    1.0 / (abs({x}) + 1.0)
"""
"""Functions of a number x: of a key here, of a row and of a value's elements with other words for it."""
