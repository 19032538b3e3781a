"""Drawing an index by an exponential race, with noise that is named by its counter.

Every index i owns an exponential clock E_i ~ Exp(1); the winner argmin_i E_i / w_i has probability w_i / sum(w) (the
Gumbel-max trick in another scale). The noise of an index does not depend on the weights, so two laws that race over
the same noise often have the same winner: that is the coupling of Daliri, Musco, Suresh, 2408.07978.

E = -log(1 - t), where the 64 bits of t are one word of a counter block and, below it, one word of a second block.
Since E >= t, an index can lead only where t / w is below the best so far: the logarithm and the second word are
computed for the few indices that pass this test, and the test runs over spans of indices without a branch. So a race
over a whole vocabulary costs little more than its noise.

Index i has its words in lane (i mod 2048) div 512 of block 512 (i div 2048) + i mod 512: neighbours in neighbouring
blocks, so that the processor's vectors are filled straight from memory.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from truedraw.protocol import Floats
from truedraw.sampling.philox import Words, fill, philox

BLOCKS = 512  # made at once: 16 KiB of noise, well inside the first-level cache
SPAN = 64  # indices tested together; divides BLOCKS
FINE = np.uint64(1 << 31)  # flag in the last counter word: the low words of t
WORD = 2.0**-32
HALF = 0.5  # t sits in the middle of its cell, so it is never 0


@numba.njit(inline="always")
def clock(coarse, block, lane, counter, key):  # type: ignore[no-untyped-def]
    """E of one index, all 64 bits of it."""
    words = philox(np.uint64(block), counter[1], counter[2], counter[3] | FINE, key[0], key[1])
    fine = words[0] if lane == 0 else words[1] if lane == 1 else words[2] if lane == 2 else words[3]
    return -math.log1p(-(float(coarse) + (float(fine) + HALF) * WORD) * WORD)


@numba.njit(inline="always")
def any_ahead(weights, coarse, best):  # type: ignore[no-untyped-def]
    """Whether some index of a span could beat the best time; no branch inside."""
    ahead = 0
    for i in range(weights.shape[0]):
        ahead += float(coarse[i]) * WORD < best * weights[i]
    return ahead > 0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def race(weights: Floats, counter: Words, key: Words) -> int:
    """The winner among weights [n] >= 0, or -1 where no weight is positive.

    `counter` [4]: word 0 is overwritten by the block, words 1 to 3 name the draw (bit 31 of the last must be 0).
    """
    noise = np.empty((4, BLOCKS), dtype=np.uint64)
    best, winner, n = math.inf, -1, weights.shape[0]
    for low in range(0, n, 4 * BLOCKS):
        if not weights[low : low + 4 * BLOCKS].any():
            continue
        first = low // 4
        fill(noise, first, counter, key)
        for start in range(low, min(low + 4 * BLOCKS, n), SPAN):
            lane, column = (start - low) // BLOCKS, (start - low) % BLOCKS
            span = weights[start : start + SPAN]
            coarse = noise[lane, column : column + len(span)]
            if not any_ahead(span, coarse, best):
                continue
            for i in range(len(span)):
                if span[i] > 0.0 and float(coarse[i]) * WORD < best * span[i]:
                    time = clock(coarse[i], first + column + i, lane, counter, key) / span[i]
                    if time < best:
                        best, winner = time, start + i
    return winner
