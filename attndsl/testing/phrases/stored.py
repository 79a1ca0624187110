"""What a key holds, and the maps that find it."""

from __future__ import annotations

VALUES = """
value
    10 | {stored}
    tanh({stored})
    ({warp})

stored
    9 | v[b, h, {place}, :]
    9 | v_group[b, group, {place}, :]
    5 | v_pages[table[b, at / S], at % S, group, :]
    4 | v_book[table[b, at / 32], at % 32, group, :]
    v_view[b, {head}, {place}, :]
    4 | v_inner[b, {place}, {head}, :]
    2 | (v_small[b, {head}, at, :] * v_scale[b, {head}, at] * 0.01)
    4 | v_f8[b, {head}, {place}, :]
    3 | (v_small[b, {head}, at, :] * v_step[b, {head}, at, :] * 0.0078125)
    2 | (v_small[b, {head}, at, :] * v_f8[b, {head}, at, :] * 0.0078125)
    2 | v_four
    2 | v_scaled
    v_odd
    2 | (if {atom} then v_shared[{head}, j, :] else v[b, h, j - p, :])
    4 | (if {range} then v_shared[{head}, j, :] else v[b, h, {past}, :])
    (if {range} then v[b, h, j, :] else if {range} then v_f8[b, {head}, {past}, :] else v_group[b, {head}, {past}, :])
    2 | v_up
    v_up[:]
    4 | v_large
    (v_wide[{head}, :, :] . v_low[b, {place}, :])
    v_far[{far}, {head}, :]
    v_turned[b, :, {head}, {place}]
    2 | v_side[b, {head}, {place}, p : p + E]
threshold
    3 | 1.0001
    w
    {slope}
other_e
    E - 1 - e
    e ^ 1
    (e + 1) % E
    (if e < E / 2 then e + E / 2 else e - E / 2)
stored@found
    4 | v[b, h, {place}, :]
    v_group[b, {head}, {place}, :]
    v_pages[table[b, at / S], at % S, {head}, :]
    v_four
    v_up
stored@joined
    v_joined[ck[b] + j, {head}, :]
    (v_joined[ck[b] + j, {head}, :] * v_joined_scale[ck[b] + j])
"""
"""What a key holds, by the map that finds it; keys are stored as values are. Where the bound of the keys is to be
found, a key reads something at an index that gives it."""

WIDTHS = """
v        {real}[B, H, N, E]
v_group  {real}[B, G, N, E]
v_pages  {real}[C, S, G, E]
v_book   {real}[C, 32, G, E]
v_inner  {real}[B, N, G, E]
v_side   {real}[B, G, N, E + 3]
v_small  i8[B, G, N, E]
v_scale  {real}[B, G, N]
v_step   {real}[B, G, N, E]
v_f8     {f8}[B, G, N, E]
v_u8     u8[B, H, N, E / 2]
v_blocks {real}[B, G, N, E / 8]
v_shared {real}[G, N, E]
v_wide   {real}[G, E, R]
v_low    {real}[B, N, R]
v_far    {real}[W, G, E]
v_turned {real}[B, E, G, N]
v_joined {real}[L, G, E]
v_joined_scale f32[L]
"""
"""The inputs of values; those of keys have a k for the v, and the width D."""

VALUE_LETS = """
v_view  v_view[b, g, j, :] = v_pages[table[b, j / S], j % S, g, :]
v_four  v_four[e in E] = ((v_u8[b, h, at, e / 2] >> 4 * (e % 2) & {low_bits}) - 8) * v_scale[b, {head}, at] * 0.2
v_scaled v_scaled[e in E] = v_small[b, {head}, at, e] * abs(v_blocks[b, {head}, {place}, e / 8]) * 0.01
v_odd   v_odd[e in E] = v[b, h, {place}, {other_e}]
v_large v_large[e in E] = if v[b, h, at, e] {compared} {threshold} then v[b, h, at, e] else 0.0
v_up    v_up[e in E] = sum(r in R) v_wide[{head}, e, r] * v_low[b, {place}, r]
"""

INDICES = """
head
    5 | h / (H / G)
    h / 2
    h % G
    G - 1 - h
    minimum(h, G - 1)
    0
    head_of[h]
head@nested
    3 | h / (H / G)
    (h + t) % G
    t
head@flat
    0
    G - 1
    head_of[h]
place
    24 | j
    2 | j + 1
    2 | j - p
    2 | N - 1 - j
    j / 2
    (j - p) / 2
    j % 3
    2 * j
    minimum(j, N - 1)
    maximum(j - 1, 0)
    abs(j - i)
    (if j < p then j else j - 1)
    3 | order[b, j]
    j ^ 1
    j & 0x6
    j | 1
    j << 1
    j >> 1
    (i * j) % 5
    2 | (i + j) * 999999937 % 7
    (if flag then j else 0)
    {hash} % 5
place@nested
    6 | j
    j + t
    j - 2 * t
place@found
    3 | j
    j + 1
    j - p
    j / 2
    2 * j
near
    3 | j
    j - 1
    j + p
far
    i + j
    i - j + 1
    M - i + j
    abs(i - j)
past
    3 | j - p
    j
    j - N / 2
low_bits
    15
    0x0F
"""
