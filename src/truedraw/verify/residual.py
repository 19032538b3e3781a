"""What is left of p when a draft drawn from q has taken its share: (w p - q)+, the heart of every p/q rule.

It is computed from the very numbers that the coin was tossed with; another rounding of p or q would be another law.
"""

from __future__ import annotations

import numpy as np

from truedraw.protocol import DraftLaw, Floats, SparseLaw

SMALLEST_MASS = 1e-300  # of a residual that can still be drawn from; below it only rounding is left


def excess(weight: float, p: Floats, q: DraftLaw | None, token: int) -> tuple[Floats, float]:
    """(weight p - q)+ [vocab] and its sum; q None stands for the point mass at `token`."""
    if q is None:
        left: Floats = np.multiply(p, weight, dtype=np.float64)
        left[token] = max(left[token] - 1.0, 0.0)
        return left, float(left.sum())
    from truedraw.sampling.kernels.softmax import excess_into, sparse_excess_into

    left = np.empty(p.shape)
    if isinstance(q, SparseLaw):
        return left, float(sparse_excess_into(weight, p, q.tokens, q.weights, left))
    return left, float(excess_into(weight, p, q, left))


def residual(p: Floats, q: DraftLaw | None, token: int) -> Floats:
    """(p - q)+ [vocab], not normalised; q None stands for the point mass at `token`.

    Where rounding leaves nothing of it, p was equal to q up to rounding and p itself is returned.
    """
    left, total = excess(1.0, p, q, token)
    return left if total > SMALLEST_MASS else p
