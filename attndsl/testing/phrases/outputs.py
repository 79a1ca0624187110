"""What is written, and what is declared."""

from __future__ import annotations

OUTPUTS = """
vector
    14 | softmax(score, mask{sink}) . {value}
    2 | softmax(score) . {value}
    2 | softmax(score, mask) . {value} - w * softmax({scoring}, j != i) . {value}
    softmax(if mask then score else -inf) . {value}
    softmax({slope}, mask) . {value}
    2 | sum(sigmoid(score) * {value}, mask)
    sum({value}, mask)
    sum({value})
    max({value}, mask)
    min({value}, mask)
    min({value})
    max({value})
    2 | sum(exp(score - max(score, mask)) * {value}, mask)
    2 | (if {row_atom} then softmax(score, mask{sink}) . {value} else sum({value}, mask) * 0.1)
sink
    5 |
    2 | , sink = w
    2 | , sink = sinks[h]
    , sink = -inf
    , sink = {row_curve}
o
    9 | {vector}
    2 | ({vector}) * sigmoid({gate})
    2 | ({vector}) * {row_curve}
    {vector} + w
    {vector} - 0.5 * (sum({value}, mask))
lse
    3 | logsumexp(score, mask{sink})
    logsumexp({scoring})
    logsumexp({scoring}, sink = {row_number})
    max(score, mask)
    max(score)
    min(score, mask)
    (if any(score > w, mask) then w else 0.5) + (if all(score < 3.0, mask) then 1.0 else 0.0)
    sum(relu(score), mask)
    sum(score - max(score, mask), mask)
    {counted}
    0.5 * logsumexp(score, mask) + {row_curve}
counted
    sum(1.0, mask)
    sum(j % 4)
counted@found
    sum(score, mask)
counted@joined
    sum(score, mask)
tag
    3 | argmax(score, mask)
    3 | argmax({bias})
    {row_hash}
    i * 3 - p
    300 - i
    (if any(score > w, mask) then i else -1)
    leading[1]
    leading[i]
tag@found
    argmax(score, mask)
tag@joined
    argmax(score, mask)
tag@until
    argmax(score, mask)
best
    3 | topk(score, mask, 3)
    4 | topk(floor({bias}), mask, 3)
    topk({bias}, 3)
    topk(score - max(score, mask), mask, 3) + i
    (if {row_atom} then leading else topk(-score, 3))
best@found
    topk(score, mask, 3)
best@joined
    topk(score, mask, 3)
tag@none
    {row_hash}
    i * 3 - p
truth
    2 | any(score > w, mask)
    all(score < 3.0, mask)
    {row_atom}
truth@found
    any(score > w, mask)
truth@joined
    any(score > w, mask)
truth@none
    {row_atom}
byte
    sum(relu(score), mask)
    logsumexp(score, mask) * 4.0
    {row_curve} * 100.0
byte@found
    sum(relu(score), mask)
byte@joined
    sum(relu(score), mask)
byte@none
    {row_curve} * 100.0
weights
    3 | softmax(score, mask{sink})
    2 | softmax({scoring})
    softmax(score, j != argmax({bias}))
row_number
    {slope}
    2 | fan[(i + F) % (ways * F)]
    {query} . {query} * 0.1
    max(d in D) (row[d] * f32(d % 3))
    f32(i % 4)
    w
    f32({row_hash} % 8)
    f32({row_hash}) * 1e-19
o@none
    2.0 * {gate}
    3 | {gate} * {row_curve}
    5 | mix[:, :] . {query}
    {gate} * rsqrt({gate} . {gate} / E + 1e-6)
    (if {row_atom} then {gate} else -{gate})
    words[word[b, h], :] + {gate}
lse@none
    {row_curve}
    {query} . {query}
"""

AGAIN = """
again
    {read} + 0.5 * {moved}
    relu({moved}) - {read}
    (if {read} > -inf then exp({read} - relu({read})) else 0.0)
folded
    logsumexp({read})
    sum({read} * {moved}, {read} > -2.0)
    max({moved}, {read} < 9.0) * 0.5
    sum({read}) + max({read})
"""
"""What a block makes of what one before it has written: of each element, or of the elements of its last axis."""

DECLARED = """
writes
    9 | o
    3 | o lse
    2 | lse
    o tag
    lse byte
    tag truth
    byte truth
    best
    o best
    weights
    o weights
writes@until
    9 | o
    3 | o lse
    o tag
    lse byte
    tag truth
    byte truth
    weights
    o weights
writes@none
    6 | o
    2 | o lse
    2 | lse
    o tag
    lse byte
    byte truth
role
    5 | output
    inout
onto
    VALUE
    VALUE - 0.5 * OWN
    (if OWN > 0.5 then VALUE else OWN)
signs
    18 | =
    3 | +=
    += +=
signs@none
    3 | =
    2 | +=
    += +=
first_block
    18 | keys
    no_keys
second_block
    14 |
    2 | keys
    3 | no_keys
reading_block
    9 |
    again
    folded
no_keys
    none
over@none
    1 |
int_parameter
    3 | int = 2
    int = 3
    int
number_parameter
    3 | {int_parameter}
    int = N / 2 + 1
ways_parameter
    2 | int = 2
    int
    int = N / 4 + 1
seed_parameter
    int
    int = 2
    int = 1442695040888963407
    int = -4611686018427387904
f32_parameter
    3 | f32 = 0.5
    f32
    2 | f32 = 1.0 / sqrt(1 + D)
twos
    3 |
    = 2
trues
    3 |
    = true
zeros
    1 |
    = 0.0
ones
    3 |
    = 1.0
lowest
    1 |
    = -inf
bool_parameter
    3 | bool = true
    bool = false
    bool
real
    9 | T
    2 | U
    f32
    f16
    bf16
    f64
written
    6 | T
    Said
    f32
    f16
    bf16
    f64
tag_written
    2 | i64
    Int
    i8
    u32
    i16
best_written
    2 | i32
    i64
    i8
    u16
truth_written
    bool
byte_written
    i8
    f8e4m3
    f8e5m2
    u8
int
    5 | i32
    2 | i64
    2 | Int
    u16
    i16
    u32
label
    2 | i32
    i64
    u8
    i8
    u16
    u32
f8
    f8e4m3
    f8e5m2
choices
    6 |
    = f16 | bf16
    = f32 | f64
    = bf16
int_choices
    2 | = i32 | i64
    = i64 | i16
broadcast
    3 |
    ?
schedule
    12 |
    split_k = {splits}
    tile_rows = {tile}; tile_keys = {tile}
    tile_rows = {tile}, tile_keys = {tile}, split_k = {splits}
    deterministic = {determined}
    {layout}
schedule_of_sums
    5 | {schedule}
    2 | deterministic = true
    deterministic = true; split_k = {splits}
determined
    true
    false
tile
    16
    1
    32
    3
    auto
splits
    2
    auto
    1
    3
"""
