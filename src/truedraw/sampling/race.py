"""Drawing an index by an exponential race, with noise that is named by its counter.

Every index i owns an exponential clock E_i ~ Exp(1); the winner argmin_i E_i / w_i has probability w_i / sum(w) (the
Gumbel-max trick in another scale). The noise of an index does not depend on the weights, so two laws that race over
the same noise often have the same winner: that is the coupling of Daliri, Musco, Suresh, 2408.07978.

The clocks are computed span by span and only where they can win, see kernels/clocks.py and kernels/racing.py: a draw
costs little more than one pass over the weights.
"""

from __future__ import annotations

from truedraw.compiled import compiled
from truedraw.protocol import Floats, Ints
from truedraw.sampling.kernels.clocks import chance_of
from truedraw.sampling.kernels.racing import race_all, race_excess
from truedraw.sampling.kernels.racing_few import run_few
from truedraw.sampling.philox import Words


@compiled(nogil=True, error_model="numpy")
def race(weights: Floats, counter: Words, key: Words) -> int:
    """The winner among weights [n] >= 0, or -1 where no weight is positive.

    `counter` [4]: words 1 to 3 name the draw (bit 31 of the last must be 0), word 0 is not looked at.
    """
    return int(race_all(weights, weights.shape[0], chance_of(counter, key)))


@compiled(nogil=True, error_model="numpy")
def race_left(p: Floats, q: Floats, counter: Words, key: Words) -> int:
    """The same among the weights (p - q)+ [n], which are not written down, or -1 where nothing is left to draw from."""
    return int(race_excess(p, q, chance_of(counter, key)))


@compiled(nogil=True, error_model="numpy")
def race_few(tokens: Ints, weights: Floats, vocab_size: int, counter: Words, key: Words) -> int:
    """The same among weights [m] >= 0 at rising tokens [m] of `vocab_size`, all others being 0: the same winner."""
    place = run_few(tokens, weights, vocab_size, chance_of(counter, key))
    return int(tokens[place]) if place >= 0 else -1
