"""Token-wise acceptance and, where a draft is rejected, the draw from the residual (p - q)+, which is never written.

Leviathan et al., 2211.17192, algorithm 1, for one draft token a row; verify/token.py is the rule for whole chains.
"""

from __future__ import annotations

import numba
import numpy as np

from truedraw.sampling.kernels.clocks import chance_of, span_bounds_before
from truedraw.sampling.kernels.racing import race_all, run
from truedraw.sampling.kernels.rowkinds import Excess
from truedraw.sampling.kernels.spans import largest, maxima, num_spans
from truedraw.sampling.philox import philox

SMALLEST_WEIGHT = 1e-300  # of a residual that can still be drawn from; below it only rounding is left
COIN_BITS = 53  # of a double's mantissa
WORD_BITS = np.uint64(32)
UNUSED_BITS = np.uint64(64 - COIN_BITS)


@numba.njit(error_model="numpy")
def coin(counter, key):  # type: ignore[no-untyped-def]
    """A number on [0, 1)."""
    high, low, _, _ = philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1])
    return np.float64((high << WORD_BITS | low) >> UNUSED_BITS) * 2.0**-COIN_BITS


@numba.njit(error_model="numpy")
def judge_row(p, q, token, coins, draws):  # type: ignore[no-untyped-def]
    """`token`, drawn from q [n], if it is accepted under p [n]; else -1 - another token, drawn from (p - q)+.

    coins and draws are the (counter, key) of the coin and of the draw.
    """
    if coin(coins[0], coins[1]) * q[token] < p[token]:
        return token
    n, row, chance = p.shape[0], Excess(p, q, 1.0), chance_of(*draws)
    tops, bounds = np.empty(num_spans(n)), np.empty(num_spans(n))
    span_bounds_before(row, bounds, chance)
    maxima(row, n, 0.0, tops)
    if largest(tops) > SMALLEST_WEIGHT:
        return -1 - run(row, n, (tops, bounds), chance)
    return -1 - race_all(p, n, chance)
