"""The chance of one sample: every draw is a pure function of (seed, sample, position, node, purpose).

Nothing depends on the order of calls, so the text cannot depend on what was drafted, on the batch, or on how often a
draw was repeated. Layout of the Philox counter, four words of 32 bits: (index of the vocabulary, 4 to a block;
position; sample; purpose and node). The key is the seed.
"""

from __future__ import annotations

import secrets

import numpy as np

from truedraw.compiled import later
from truedraw.errors import BadParameter
from truedraw.protocol import Floats, Purpose, Randomness, SparseLaw
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.values import shown
from truedraw.threads import NOBODY

RACE, RACE_FEW, RACE_LEFT = (later("truedraw.sampling.race", name) for name in ("race", "race_few", "race_left"))
BLOCK = later("truedraw.sampling.philox", "block")
SEED_BITS = 64
NODE_BITS = 24  # of the last counter word; purposes take the bits above, bit 31 belongs to the race
COIN_BITS = 53  # of a double's mantissa


class PhiloxRandomness:
    """protocol.Randomness for sample number `sample` of the run called `seed`.

    `key` [2] is the seed's two words; `name` has the sample, and these.
    """

    def __init__(self, seed: int, sample: int = 0) -> None:
        check_seed(seed)
        self.key = np.array([seed & 0xFFFFFFFF, seed >> 32], dtype=np.uint64)
        self._sample = sample
        self.name = sample, seed & 0xFFFFFFFF, seed >> 32

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        """An index drawn by an exponential race, see sampling/race.py."""
        return chosen(RACE()(weights, self.counter(purpose, position, node), self.key))

    def choose_sparse(self, law: SparseLaw, purpose: Purpose, position: int, node: int = 0) -> int:
        """choose(law.dense(), ...): the same token, from the same noise."""
        name = self.counter(purpose, position, node), self.key
        return chosen(RACE_FEW()(law.tokens, law.weights, law.vocab_size, *name))

    def choose_left(self, p: Floats, q: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        """choose((p - q)+, ...): the same token, from the same noise; that of choose(p, ...) where nothing is left."""
        winner = RACE_LEFT()(p, q, self.counter(purpose, position, node), self.key)
        return winner if winner >= 0 else self.choose(p, purpose, position, node)

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        """u q < p with u uniform on [0, 1): no division, and p = 0 is never accepted."""
        high, low, *_ = BLOCK()(self.counter(purpose, position, node), self.key)
        u = ((int(high) << 32 | int(low)) >> (64 - COIN_BITS)) * 2.0**-COIN_BITS
        return u * q < p

    def counter(self, purpose: Purpose, position: int, node: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """The words [4] that name a draw."""
        return np.array([0, position, self._sample, purpose << NODE_BITS | node], dtype=np.uint64)


def choose_sparse(randomness: Randomness, law: SparseLaw, purpose: Purpose, position: int, node: int = 0) -> int:
    """randomness.choose(law.dense(), ...); such randomness as can do so never sees the whole row."""
    own = getattr(randomness, "choose_sparse", None)
    if own is None:
        return randomness.choose(law.dense(), purpose, position, node)
    return int(own(law, purpose, position, node))


def chosen(winner: int) -> int:
    """The winner of a race; raises ValueError where there is none."""
    if winner < 0:
        raise ValueError("nothing to choose from: no weight is positive")
    return int(winner)


def check_seed(seed: int, name: str = "seed") -> None:
    """Raises BadParameter unless 0 <= seed < 2**64."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << SEED_BITS:
        raise BadParameter(name, f"got {shown(seed)}; give a whole number from 0 to 2**64 - 1, or leave it out")


def fresh_seed() -> int:
    """A seed from the operating system's entropy."""
    return secrets.randbits(SEED_BITS)


def warm_up() -> None:
    """Load the compiled kernels of laws and draws, so that the first token does not wait for them."""
    from truedraw.sampling.kernels.entry import draw_one, law_into, memory
    from truedraw.sampling.kernels.softmax import log_normaliser
    from truedraw.sampling.transform import Transform
    from truedraw.sampling.working_time import COMPILER

    COMPILER.watch()
    logits, how = np.zeros(1, dtype=np.float32), tuple(Transform())
    draw = PhiloxRandomness(0)
    draw_one(logits, how, (draw.counter(Purpose.TARGET, 0, 0), draw.key, True, DRAWN), memory(1, NOBODY))
    law_into(logits, how, memory(1, NOBODY))
    log_normaliser(logits)
    draw.choose(np.ones(1), Purpose.TARGET, 0)
    draw.accept(1.0, 1.0, Purpose.ACCEPT, 0)
