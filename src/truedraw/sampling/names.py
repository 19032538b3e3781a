"""Draws of a round, named as sampling/randomness.py names them; name = (position; sample; two words of the seed)."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.philox import philox
from truedraw.sampling.randomness import COIN_BITS, NODE_BITS

UNIT = 2.0**-COIN_BITS
DROPPED = np.uint64(64 - COIN_BITS)
WORD_BITS = np.uint64(32)


@inner(error_model="numpy")
def named(name, purpose, further, node):  # type: ignore[no-untyped-def]
    """The chance (clocks.py) of a draw, so many positions further."""
    position, sample, first, second = name
    last = np.uint64(purpose << NODE_BITS | node)
    return np.uint64(position + further), np.uint64(sample), last, np.uint64(first), np.uint64(second)


@inner(error_model="numpy")
def tossed(p, q, chance):  # type: ignore[no-untyped-def]
    """u q < p, u uniform on [0, 1): True with probability min(1, p / q)."""
    b, c, d, k0, k1 = chance
    high, low, _, _ = philox(np.uint64(0), b, c, d, k0, k1)
    return np.float64((high << WORD_BITS | low) >> DROPPED) * UNIT * q < p
