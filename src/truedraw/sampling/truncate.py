"""Truncations: which tokens of p may be drawn. Each takes p [vocab], sums to 1, and returns the kept mask [vocab].

Ties are cut the same way everywhere: of equal candidates the lower token id is kept first, so that p is one law and
not one per sorting routine. At least one token is always kept.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import Floats

Mask = NDArray[np.bool_]

FIRST_GUESS = 256  # candidates sorted at first; most rows need fewer
GROWTH = 16
SMALLEST = float(np.finfo(np.float64).tiny)


def top_k(p: Floats, k: int) -> Mask:
    """The k likeliest tokens (Fan et al., 1805.04833)."""
    from truedraw.sampling.kernels.edges import top_k_mask

    return np.asarray(top_k_mask(np.ascontiguousarray(p, np.float64), min(k, p.size)))


def top_p(p: Floats, mass: float) -> Mask:
    """The fewest likeliest tokens whose mass reaches `mass` (nucleus sampling, Holtzman et al., 1904.09751)."""
    from truedraw.sampling.kernels.edges import top_p_mask

    return np.asarray(top_p_mask(np.ascontiguousarray(p, np.float64), mass))


def min_p(p: Floats, ratio: float) -> Mask:
    """The tokens at least `ratio` times as likely as the likeliest (Nguyen et al., 2407.01082)."""
    return np.asarray((p > 0) & (p >= ratio * p.max()))


def typical_p(p: Floats, mass: float) -> Mask:
    """The fewest tokens, nearly average surprise first, whose mass reaches `mass` (Meister et al., 2202.00666)."""
    surprise = _surprise(p)
    return _until(np.abs(surprise - entropy(p, surprise)), p, mass)


def epsilon_cutoff(p: Floats, floor: float) -> Mask:
    """The tokens of probability `floor` or more, and always the likeliest (Hewitt et al., 2210.15191, section 4.2)."""
    return np.asarray((p >= floor) | (p == p.max()))


def eta_cutoff(p: Floats, epsilon: float) -> Mask:
    """epsilon_cutoff at min(epsilon, sqrt(epsilon) exp(-entropy)) (Hewitt et al., 2210.15191, equation 5).

    The entropy is that of p in nats: the flatter the law, the less likely a token may be. As in Hugging Face.
    """
    return epsilon_cutoff(p, min(epsilon, math.sqrt(epsilon) * math.exp(-entropy(p, _surprise(p)))))


def top_n_sigma(logits: Floats, n: float) -> Mask:
    """The tokens whose logit is at most n standard deviations below the largest (Tang et al., 2411.07641).

    The deviation is that of the possible tokens' logits, -inf left out, divided by their number as in llama.cpp. A
    temperature scales all of it alike, so the set does not depend on whether it was applied before.
    """
    possible = logits > -np.inf
    values = logits if possible.all() else logits[possible]
    with np.errstate(over="ignore"):  # an infinite deviation keeps what exp would send to 0 anyway
        return np.asarray(logits >= values.max() - n * values.std())


def surprise_below(p: Floats, bits: float) -> Mask:
    """The tokens of at most `bits` of surprise, -log2 p, and always the first of the likeliest."""
    with np.errstate(over="ignore"):
        kept = p >= np.exp2(-bits)
    kept[p.argmax()] = True
    return np.asarray(kept & (p > 0))


def without_top_choices(p: Floats, threshold: float) -> Mask:
    """All tokens except those of probability `threshold` or more, of which the last, least likely one stays (XTC)."""
    top = np.flatnonzero((p >= threshold) & (p > 0))
    kept = p > 0
    if top.size > 1:
        kept[top] = False
        kept[top[p[top] == p[top].min()][-1]] = True
    return np.asarray(kept)


def _surprise(p: Floats) -> Floats:
    """-log p [vocab] in nats; where p is 0, more than anywhere else."""
    surprise: Floats = np.maximum(p, SMALLEST)
    np.log(surprise, out=surprise)
    return np.negative(surprise, out=surprise)


def entropy(p: Floats, surprise: Floats) -> float:
    """sum(p surprise); not a BLAS product, whose rounding may depend on threads and on where an array lies."""
    return float((p * surprise).sum())


def _until(key: Floats, p: Floats, mass: float) -> Mask:
    """Keep possible tokens in rising order of (key, id) until their p reaches `mass`; the one that does it is kept.

    An impossible token's key is the largest.
    """
    possible, count = np.count_nonzero(p), FIRST_GUESS
    while True:
        ids = _smallest(key, count) if count < possible else np.flatnonzero(p)
        order = ids[np.argsort(key[ids], kind="stable")]
        reached = np.cumsum(p[order]) >= mass
        if reached.any() or ids.size >= possible:
            break
        count *= GROWTH
    kept = np.zeros(p.shape, dtype=bool)
    kept[order[: int(np.argmax(reached)) + 1] if reached.any() else order] = True
    return np.asarray(kept & (p > 0))


def _smallest(key: Floats, count: int) -> NDArray[np.int64]:
    """Ids, rising, of at least `count` smallest keys, all ties of the last one included.

    The edge is found in float32, ten times faster: rounding keeps the order, so at worst more ids are returned.
    """
    rounded = key.astype(np.float32)
    return np.flatnonzero(rounded <= np.partition(rounded, count - 1)[count - 1])
