"""Tokens drawn from rows of logits whose p is never written down.

In most rounds nobody asks for a row's p, only for the token drawn from it and that token's logarithms. Where a law is a
Transform and the chance the real one, compiled code finds them in two passes over the row. Token and law are those of
the long way: the race is over the same clocks, and kernels/draw.py makes p and the draw from the same weights.

The logarithms of a token are those of the same code, bit for bit, where it was chosen in another way: who drafted how
much may depend on how long things took, and a text's log probabilities shall not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from truedraw.protocol import Law, Logits, Purpose, Randomness
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.transform import Transform

if TYPE_CHECKING:
    from truedraw.sampling.kernels.batch import Memory
    from truedraw.sampling.philox import Words

NO_NAME: tuple[Words, Words] = np.zeros(4, np.uint64), np.zeros(2, np.uint64)
"""Of a draw that does not take place."""


class Drawn(NamedTuple):
    """A token and the natural logs of its probability, before and after the transforms; None: the log of p."""

    token: int
    logprob: float
    sampling_logprob: float | None


class RowDraws:
    """Draws from rows of one vocabulary, with memory that is made when first needed; so it serves one caller at a time.

    A draw depends on nothing that was drawn before.
    """

    def __init__(self) -> None:
        self._kernel: Callable[..., tuple[int, float, float]] | None = None
        self._memory: Memory = (np.empty(0), np.empty(0), np.empty(0, np.int64))

    def draw(
        self, law: Law, logits: Logits, randomness: Randomness, purpose: Purpose, position: int, node: int
    ) -> Drawn | None:
        """What randomness.choose(law(logits), ...) draws, None where only the long way can tell."""
        how = getattr(law, "transform", None)
        if how is None or type(randomness) is not PhiloxRandomness or not suits(logits):
            return None
        return self._run(how, logits, (randomness.counter(purpose, position, node), randomness.key, DRAWN))

    def given(self, law: Law, logits: Logits, token: int) -> Drawn | None:
        """A token that was chosen otherwise, with its logarithms; None where only the long way can tell.

        Where something is cut, what is left has the weights of p: then the second logarithm is that of p, and not told.
        """
        how = getattr(law, "transform", None)
        if how is None or not suits(logits):
            return None
        is_cut = 0 < how.top_k < len(logits) or how.top_p < 1.0 or how.min_p > 0.0
        found = self._run(Transform() if is_cut else how, logits, (*NO_NAME, token))
        return found._replace(sampling_logprob=None) if found is not None and is_cut else found

    def _run(self, how: Transform, logits: Logits, chance: tuple[Words, Words, int]) -> Drawn | None:
        if self._kernel is None or (how.cuts and len(self._memory[0]) < len(logits)):
            self._kernel, self._memory = loaded(len(logits) if how.cuts else 0)
        token, after, before = self._kernel(logits, tuple(how), *chance, self._memory)
        return None if token < 0 else Drawn(token, before, after)


def loaded(size: int) -> tuple[Callable[..., tuple[int, float, float]], Memory]:
    """The kernel, and memory for rows of a size: kept, since even a repeated import takes time in every round."""
    from truedraw.sampling.kernels.batch import draw_one, memory

    return draw_one, memory(size)


def suits(logits: Logits) -> bool:
    """Whether the kernels are compiled for such a row: another kind of array would be compiled for anew."""
    return logits.dtype == np.float32 and logits.flags.c_contiguous and logits.flags.writeable
