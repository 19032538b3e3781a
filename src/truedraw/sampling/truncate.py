"""Truncations: which tokens of p may be drawn. Each takes p [vocab], sums to 1, and returns the kept mask [vocab].

Ties are cut the same way everywhere: of equal candidates the lower token id is kept first, so that p is one law and
not one per sorting routine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import Floats

Mask = NDArray[np.bool_]

FIRST_GUESS = 256  # candidates sorted at first; most rows need fewer
GROWTH = 16


def top_k(p: Floats, k: int) -> Mask:
    """The k likeliest tokens (Fan et al., 1805.04833)."""
    if k >= p.size:
        return np.asarray(p > 0)
    edge = np.partition(p, p.size - k)[p.size - k]
    kept = p > edge
    kept[np.flatnonzero(p == edge)[: k - np.count_nonzero(kept)]] = True
    return np.asarray(kept & (p > 0))


def top_p(p: Floats, mass: float) -> Mask:
    """The fewest likeliest tokens whose mass reaches `mass` (nucleus sampling, Holtzman et al., 1904.09751)."""
    return _until(-p, p, mass)


def min_p(p: Floats, ratio: float) -> Mask:
    """The tokens at least `ratio` times as likely as the likeliest (Nguyen et al., 2407.01082)."""
    return np.asarray((p > 0) & (p >= ratio * p.max()))


def typical_p(p: Floats, mass: float) -> Mask:
    """The fewest tokens, nearly average surprise first, whose mass reaches `mass` (Meister et al., 2202.00666)."""
    surprise = np.full(p.shape, np.inf)
    np.negative(np.log(p, where=p > 0, out=np.zeros_like(p)), where=p > 0, out=surprise)
    entropy = float(p[p > 0] @ surprise[p > 0])
    return _until(np.abs(surprise - entropy), p, mass)


def _until(key: Floats, p: Floats, mass: float) -> Mask:
    """Keep tokens in rising order of (key, id) until their p adds up to `mass`; the one that reaches it is kept."""
    count = FIRST_GUESS
    while True:
        ids = _smallest(key, count)
        order = ids[np.argsort(key[ids], kind="stable")]
        reached = np.cumsum(p[order]) >= mass
        if reached.any() or ids.size == p.size:
            break
        count *= GROWTH
    kept = np.zeros(p.shape, dtype=bool)
    kept[order[: int(np.argmax(reached)) + 1] if reached.any() else order] = True
    return np.asarray(kept & (p > 0))


def _smallest(key: Floats, count: int) -> NDArray[np.int64]:
    """Ids, rising, of at least `count` smallest keys, all ties of the last one included.

    The edge is found in float32, ten times faster: rounding keeps the order, so at worst more ids are returned.
    """
    if count >= key.size:
        return np.arange(key.size)
    rounded = key.astype(np.float32)
    return np.flatnonzero(rounded <= np.partition(rounded, count - 1)[count - 1])
