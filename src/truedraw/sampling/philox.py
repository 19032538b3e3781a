"""Philox4x32-10, a counter-based generator: a number is a pure function of (key, counter), so it can be named.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011), section 4.3. Each round maps the
counter words (a, b, c, d) to (hi(M1 c) ^ b ^ k0, lo(M1 c), hi(M0 a) ^ d ^ k1, lo(M0 a)) and bumps the key.
Words travel as uint64 that hold 32 bits, because 32 x 32 -> 64 bit products then become vector instructions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import compiled, inner

Words = NDArray[np.uint64]

ROUNDS = 10
LOW = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)
M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
BUMP0, BUMP1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


@inner(inline="always")
def philox(a, b, c, d, k0, k1):  # type: ignore[no-untyped-def]
    """Four words of noise for the counter (a, b, c, d) and the key (k0, k1); all uint64 below 2**32."""
    for _ in range(ROUNDS):
        x = M0 * a
        y = M1 * c
        a, b, c, d = (y >> SHIFT) ^ b ^ k0, y & LOW, (x >> SHIFT) ^ d ^ k1, x & LOW
        k0 = (k0 + BUMP0) & LOW
        k1 = (k1 + BUMP1) & LOW
    return a, b, c, d


@compiled()
def block(counter: Words, key: Words) -> tuple[int, int, int, int]:
    """The four words of one counter [4] under one key [2]."""
    a, b, c, d = philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1])
    return a, b, c, d


@compiled()
def fill(out: Words, first: int, counter: Words, key: Words) -> None:
    """out [4, n]: the words of n consecutive counters (first + column, counter[1], counter[2], counter[3])."""
    b, c, d, k0, k1 = counter[1], counter[2], counter[3], key[0], key[1]
    for column in range(out.shape[1]):
        w = philox(np.uint64(first + column), b, c, d, k0, k1)
        out[0, column], out[1, column], out[2, column], out[3, column] = w
