"""Where rows and keys lie, and with that what a row reads and writes."""

from __future__ import annotations

LAYOUTS = """
rows
    12 | dense
    2 | ragged
    2 | packed
    2 | last
    2 | grid
    flat
keys
    12 | plain
    2 | upto
    2 | found
    joined
    2 | until
    2 | gathered
    2 | pair
    nested
    fixed

each
    b in B, h in H, i in M
each@ragged
    b in B, h in H, i in count[b] up to M
    b in B, h in H, i in count[b]
each@packed
    b in B, h in H, i in m[b]
    b in B, h in H, i in cu[b + 1] - cu[b]
each@last
    b in B, h in H
each@grid
    b in B, h in H, y in Y, x in X
each@flat
    i in M

over
    8 | j in N
    j in N + 1
    j in N / 2
    j in M + N
over@upto
    j in length[b] up to N
    j in length[b] - 1 up to N
    j in minimum(length[b] + i, N) up to N + 1
over@found
    j in length[b]
    j in length[b] + 1
over@joined
    j in n[b]
over@until
    j in i + 1
    j in minimum(N, i + p)
    j in N - i
over@gathered
    t in K
over@pair
    t in Y, u in X
    t in 3, u in Y
over@nested
    t in 3, j in N
    t in H, j in N
    t in G, j in M
over@fixed
    j in 5
    j in p

o_place
    8 | [b, h, i, :] of [B, H, M, E]
    [b, h, M - 1 - i, :] of [B, H, M, E]
    [b, h, i + 1, :] of [B, H, M, E]
    [i, h, b, :] of [M, H, B, E]
    [:, b, h, i] of [E, B, H, M]
    2 | [b, i, h * E : h * E + E] of [B, M, H * E]
    [b, h, i, :] of [B, H, M + ways, E]
o_place@ragged
    [b, h, i, :] of [B, H, M, E]
    [b, h, i - p, :] of [B, H, M, E]
o_place@packed
    [b, cu[b] + i, h, :] of [B, L, H, E]
    [b, h, i, :] of [B, H, L, E]
o_place@last
    [b, h, :] of [B, H, E]
    [h, b, :] of [H, B, E]
    [b, h, 1 : E + 1] of [B, H, E + 3]
o_place@grid
    [b, h, y, x, :] of [B, H, Y, X, E]
    [b, h, :, x, Y - 1 - y] of [B, H, E, X, Y]
o_place@flat
    [i, :] of [M, E]

lse_place
    [b, h, i] of [B, H, M]
    [b, i, h] of [B, M, H]
    [b, h, i - 1] of [B, H, M]
    [b, h, i] of [B, ways, M]
lse_place@ragged
    [b, i, h] of [B, M, H]
lse_place@packed
    [b, h, cu[b] + i] of [B, H, L]
lse_place@last
    [b, h] of [B, H]
lse_place@grid
    [b, h, x, y] of [B, H, X, Y]
lse_place@flat
    [i] of [M]

at_keys
    j of N
at_keys@gathered
    t of K
at_keys@pair
    t, u of Y, X
at_keys@nested
    t, j of H, N

o_sums
    {o_place}
    2 | [b, i, :] of [B, M, E]
    2 | [b, h, :] of [B, H, E]
    [b, h / 2, i, :] of [B, H, M, E]
    [b, h, i % 3, :] of [B, H, M, E]
    [b, word[b, h], :] of [B, M, E]
    [b, h + i, :] of [B, M, E]
    [h, word[b, h] + i, :] of [H, M, E]
o_sums@none
    2 | [b, i, :] of [B, M, E]
    2 | [b, h, :] of [B, H, E]
    [b, i / 2, :] of [B, M, E]
    [b, h / 2, i, :] of [B, H, M, E]
    [h, word[b, h] + i, :] of [H, M, E]
o_sums@ragged
    [i, :] of [M, E]
    [h, i / 2, :] of [H, M, E]
o_sums@packed
    2 | [cu[b] + i, :] of [L, E]
    [cu[b] + i, h, :] of [L, H, E]
o_sums@last
    [b, :] of [B, E]
    [b, h / 2, :] of [B, H, E]
    [h, word[b, h], :] of [H, B, E]
o_sums@grid
    [b, h, y + x, :] of [B, H, Y, E]
    [h, x, :] of [H, X, E]
o_sums@flat
    [i / 2, :] of [M, E]
    [:] of [E]

lse_sums
    {lse_place}
    [b, h] of [B, H]
    [] of []
    [b, word[b, h]] of [B, M]
    [h, b, i / 2] of [H, B, M]
lse_sums@ragged
    [i] of [M]
    [b, i / 2] of [B, M]
lse_sums@packed
    [cu[b] + i] of [L]
lse_sums@last
    [b] of [B]
lse_sums@grid
    [y - x] of [Y]
    [b, x] of [B, X]
lse_sums@flat
    [] of []
    [i % 2] of [M]

last
    N - 1
    N - p
gathered
    top[b, i, t]
    top_shared[b, t]
"""
"""Rows write to places of their own, whatever the data is: of two rows that met, either might stay."""

QUERIES = """
query
    4 | q[b, h, i, :]
    q_heads[b, i, h, :]
    q_side[b, i, h, 2 : D + 2]
    q_ways[b, i, i % ways * D : i % ways * D + D, h]
query@packed
    q_packed[cu[b] + i, h, :]
query@last
    q_last[b, h, :]
query@grid
    q_grid[b, h, y, x, :]
query@flat
    q_flat[i, :]
"""
"""What a row reads, of the width D; that of the width E has other names."""
