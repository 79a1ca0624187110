"""Masks: which keys a row sees."""

from __future__ import annotations

MASKS = """
mask
    12 | {predicate}
    4 | {predicate} and {predicate}
    {predicate} and ({inner})
    2 | {predicate} or {predicate}
    ({inner}) or {predicate}
    2 | not ({inner})
    2 | (if {predicate} then {inner} else {predicate})
    3 | {predicate} and {row_atom}
    {row_atom}
    true
inner
    {predicate}
    {predicate} and {predicate}
    {predicate} or {predicate}
    not ({predicate})
    (if {predicate} then {predicate} else {predicate})
predicate
    6 | j <= {line}
    3 | {left} {compared} {line}
    j / {size} {compared} (i + {amount}) / {size}
    2 | j / {size} {compared} (i - {amount}) / {size}
    (i - j) % {size} == {rest}
    (i - j) / {size} {compared} {rest}
    2 | {line} - {amount} < j <= {line}
    0 <= i - j < {amount}
    2 | label[b, j] {equal} label[b, {line}]
    2 | valid[b, {near}]
    tree[i, j - {amount}]
    blocks[i / 2, j / 2]
    j {compared} length[b]
    j < length[b] + i
    2 | {hash} % 4 {equal} {rest}
    2 | ({hash} & 6) {equal} 2
    random({row_hash}, j) < 0.75
    random(seed, (b * M + i) * N + j) >= 0.25
    lit[]
    flag
    not flag
    flag {equal} (j <= i)
    valid[b, j] {equal} flag
    part[j] {compared} part[i]
    chunk[j] == chunk[i]
    (i ^ j) & 0x5 {equal} 0
    (i | j) < {amount} << 1
    minimum(i, j) {compared} {amount}
    5 | {bias} {compared} 0.0
    2 | any(d in D) ({compared_element} {compared} 1.0)
    all(r in R) (late_key[b, {near}, r] > w)
    any(s in 3) ((j + 2 * s) % 5 < 2)
    {bias} {equal} w
    {bias} <= w
    {bias} >= w
line
    4 | i
    2 | i + N - M
    i + {amount}
    i - {amount}
    2 * i - {amount}
    i / 2 + {amount}
    {amount}
    salt[] + i
line@nested
    4 | i
    2 | i + N - M
    i - {amount}
    i + t
    N - i - t
left
    j
    -j
    j + 1
    2 * j
    j - i
    -(j % 4)
amount
    2
    p
    3
    M
    N
size
    2
    3
    D
rest
    0
    1
    -1
compared
    <=
    <
    >
    >=
    ==
    !=
equal
    ==
    !=
atom
    j <= i
    j < p
    valid[b, j]
    flag
    j % 2 == 0
range
    3 | j < p
    2 | j < length[b]
    2 | j >= N / 2
    not (j < N - p)
    M > j
    j / 2 < p
    p < j and j < N - 1
    j == 1
    j < p and flag
    j + seed < 4
row_atom
    i % 2 == 0
    flag
    i < p
    chosen[h]
    {slope} > 0.0
    2 | {row_hash} % 3 {equal} 0
    lit[]
"""
