"""What of a call a launch wants before it takes a kernel whose warps have roles: a rule, as far as it is numbers."""

from __future__ import annotations

LEAST_ROWS = 65
"""The rows from which on a program with roles has more than one consumer's."""

BUSY = 0.8
"""The part of all processors' time that tiles of rows must fill: with roles each has a processor to itself, and of the
last round some have none; roles save about a fifth.
"""

WIDE_ROUNDS = (4, 3)
"""So many rounds of tiles of 128 rows take as long as so many of tiles of 192, whose programs have three consumers.

By that, of 18 shapes of heads of 64 on an H200, each was taken in the form that was faster, or within 1.03 of it: tiles
of 192 rows took 0.85 to 0.95 of the time of 128 heads and more with 768, 1536, 2048, 4096 and 8192 rows, 0.97 to 1.00
where the rule finds both alike (128 heads of 1024 rows, 1024 of 512, 32 of 2048, in three stages; in two, 256 heads of
1024 rows and 32 of 4096, too, 0.99 to 1.03), and 1.25 to 1.47 where rows or rounds are left over (32 heads of 1024
rows, 16 of 2048, 4 of 8192, 1024 of 256).
"""

LEAST_SHARED_ROWS = 17
"""The rows from which on a program pays whose consumers share out sums: a plain one has tiles of 16 rows.

On an H200 latent attention of 128 requests of 4096 keys took 172 µs with roles of 16 heads and 156 without; of 32
heads 170 and 238, of 64 heads 168 and 388, of 128 heads 305 and 625.
"""

LEAST_SHARED_TURNS = 3.5
"""The turns of full tiles that each processor must have then, if all of a call's were shared out evenly.

A tile half full counts as a quarter: it takes as long, and the plain form half as long. On an H200, keys cut or not as
was best, roles took 0.76 to 0.79 of the time with 7.8 turns of 64 rows, 0.87 to 0.95 with 3.9 and 1.04 to 1.11 with
1.9; of 32 rows 0.94 to 0.96 with 15.5 and 1.09 to 1.11 with 7.8. Of 256 keys they took 1.04 with 3.9 turns.
"""

TILE_TURNS, SPLIT_TURNS = 9, 14
"""What a tile of rows takes then beside its turns, and what it takes more where keys are cut, in turns.

On an H200 a turn of 64 keys took 2.1 µs, a tile of rows 18 µs more, and one of cut keys up to 30, merge and all. Of 12
shapes for which roles are taken, what is chosen so took the least time of all splits tried, or 1.02 of it.
"""
