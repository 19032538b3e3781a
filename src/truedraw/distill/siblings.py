"""What further candidates at one place add, by the recursive rule without replacement (Jeong et al., RSD, 2402.14160).

A candidate x is drawn from q and kept with the chance min(1, p / q); else p becomes the residual (p - q)+ and q loses
x, both made whole again, and the next one is drawn. The chances are exact given the candidates that were not kept; of
those one is drawn for each row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truedraw.protocol import Floats, Ints

CANDIDATES = 4
LEAST = 1e-12  # of what is divided by


class Kept(NamedTuple):
    """given[k]: the chance that candidate k is kept where those before it were not. within[k]: that it or one before
    it is."""

    given: tuple[float, ...]
    within: tuple[float, ...]


def kept_chances(p: Floats, q: Floats, chance: np.random.Generator, candidates: int = CANDIDATES) -> Kept:
    """p [rows, known] may sum to less than 1, q [rows, known] to 1. Both are overwritten."""
    alive = np.ones(len(p))  # chance that none was kept so far
    given, within = [], []
    for _ in range(candidates):
        kept = np.minimum(p, q).sum(1)
        whole = alive.sum()
        given.append(float(alive @ kept / whole) if whole > LEAST else 0.0)
        alive *= 1 - np.clip(kept, 0, 1)
        within.append(float(1 - alive.mean()))
        p, q = _rejected(p, q, 1 - kept, chance)
    return Kept(tuple(given), tuple(within))


def _rejected(p: Floats, q: Floats, lost: Floats, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """p and q after a rejection, in place; lost [rows] is its chance, the same seen from either side."""
    gone = _drawn(np.maximum(q - p, 0), chance)
    np.subtract(p, q, out=p)
    np.maximum(p, 0, out=p)
    p /= np.maximum(lost, LEAST)[:, None]
    q[np.arange(len(q)), gone] = 0
    q /= np.maximum(q.sum(1), LEAST)[:, None]
    return p, q


def _drawn(weights: Floats, chance: np.random.Generator) -> Ints:
    """One column of each row, by its weights."""
    sums = weights.cumsum(1)
    at = chance.random(len(weights)) * sums[:, -1]
    found: Ints = np.minimum((sums <= at[:, None]).sum(1), weights.shape[1] - 1)
    return found
