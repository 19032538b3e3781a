"""Drawing an index by an exponential race, with noise that is named by its counter.

Every index i owns an exponential clock E_i ~ Exp(1); the winner argmin_i E_i / w_i has probability w_i / sum(w) (the
Gumbel-max trick in another scale). The noise of an index does not depend on the weights, so two laws that race over
the same noise often have the same winner: that is the coupling of Daliri, Musco, Suresh, 2408.07978.

E = -log(1 - t), where the 64 bits of t are one word of the counter block and, below it, one word of a second block.
Since E >= t, an index can lead only where t / w beats the best so far: the logarithm and the second word are computed
for the few indices that pass this test, and a race over a whole vocabulary costs little more than its noise.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from truedraw.protocol import Floats
from truedraw.sampling.philox import Words, fill, philox

CHUNK = 512  # counters whose noise is made at once: 16 KiB, well inside the first-level cache
FINE = np.uint64(1 << 31)  # flag in the last counter word: the low words of t
WORD = 2.0**-32
HALF = 0.5  # t sits in the middle of its cell, so it is never 0


@numba.njit(inline="always")
def clock(coarse, index, counter, key):  # type: ignore[no-untyped-def]
    """E of one index, all 64 bits of it."""
    words = philox(np.uint64(index >> 2), counter[1], counter[2], counter[3] | FINE, key[0], key[1])
    lane = index & 3
    fine = words[0] if lane == 0 else words[1] if lane == 1 else words[2] if lane == 2 else words[3]
    return -math.log1p(-(float(coarse) + (float(fine) + HALF) * WORD) * WORD)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def race(weights: Floats, counter: Words, key: Words) -> int:
    """The winner among weights [n] >= 0, or -1 where no weight is positive.

    `counter` [4]: word 0 is overwritten by the index, words 1 to 3 name the draw (bit 31 of the last must be 0).
    """
    noise = np.empty((4, CHUNK), dtype=np.uint64)
    best, winner, n = math.inf, -1, weights.shape[0]
    for first in range(0, (n + 3) // 4, CHUNK):
        low, high = 4 * first, min(4 * (first + CHUNK), n)
        if not weights[low:high].any():
            continue
        fill(noise[:, : (high - low + 3) // 4], first, counter, key)
        for index in range(low, high):
            weight = weights[index]
            coarse = noise[index & 3, (index >> 2) - first]
            if weight > 0.0 and float(coarse) * WORD < best * weight:
                time = clock(coarse, index, counter, key) / weight
                if time < best:
                    best, winner = time, index
    return winner
