"""What is added to a head's logits, and is learnt while texts are written.

With z what a cell shows of its states and n(z) = z / rms(z),

    logits + (n(z) R) S + b        R [width, rank], S [rank, known], b [known]

b is how often this text has a token, whatever stands before it; R S is of low rank (Hu et al., LoRA, 2106.09685), which
keeps a place under the price of a row of the network: 26 microseconds for two rows of 8,192 tokens with a rank of 16.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import Logits

RANK = 16  # 8 and 32 learnt about as much of 6,700 tokens
SEED = 0  # of R's first numbers: a correction does not depend on the run that it was learnt in
LEAST = 1e-5  # of a mean square that is divided by

Reals = NDArray[np.float32]


class Correction(NamedTuple):
    """Never changed once it is made."""

    read: Reals  # R [width, rank]
    say: Reals  # S [rank, known]
    bias: Reals  # b [known]

    @classmethod
    def nothing(cls, width: int, known: int) -> Self:
        """Adds 0, and can learn to add something else; a width of 0 leaves the bias alone."""
        rank = RANK if width else 0
        chance = np.random.default_rng(SEED)
        read = chance.normal(size=(width, rank)) / np.sqrt(max(width, 1))
        return cls(read.astype(np.float32), np.zeros((rank, known), np.float32), np.zeros(known, np.float32))

    @property
    def is_sound(self) -> bool:
        """Whether all of it are numbers."""
        return all(bool(np.isfinite(part).all()) for part in self)

    def of(self, z: Reals, logits: Logits) -> Logits:
        """logits [n, known] where a cell shows z [n, width]; an array of its own."""
        found = logits + self.bias
        if self.read.size:
            found += spread(gathered(normed(z), self.read), self.say)
        return found


def normed(z: Reals) -> Reals:
    """n(z) [n, width]."""
    squares = np.einsum("nw,nw->n", z, z)[:, None] / max(z.shape[1], 1)
    return np.asarray(z / np.sqrt(squares + LEAST))


def gathered(z: Reals, read: Reals) -> Reals:
    """z R [n, rank]. Not by BLAS, whose threads fight for the engine's cores: products of this size then took 17 ms."""
    return np.asarray(np.einsum("nw,wr->nr", z, read))


def spread(inner: Reals, say: Reals) -> Reals:
    """(z R) S [n, known]."""
    return np.asarray(np.einsum("nr,rk->nk", inner, say))
