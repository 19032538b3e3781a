"""Tokens drawn from rows of logits whose p is never written down.

In most rounds nobody asks for a row's p, only for the token drawn from it and that token's logarithms. Where
transform.py says so and the chance is the real one, compiled code finds them in few passes over the row. Token and law
are those of the long way: the race is over the same clocks, and kernels/law.py makes p of the same weights that
kernels/draw.py draws by.

The logarithms of a token are the same, bit for bit, where it was chosen in another way: who drafted how much may depend
on how long things took, and a text's log probabilities shall not. Where something is edited or cut, the one after the
transforms is that of p; elsewhere the same code takes both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from truedraw.compiled import later
from truedraw.protocol import Ints, Law, Logits, Purpose, Randomness
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.transform import Transform, fused
from truedraw.threads import NOBODY

if TYPE_CHECKING:
    from truedraw.sampling.edits import Edits
    from truedraw.sampling.kernels.entry import Memory
    from truedraw.sampling.philox import Words

DRAW, DRAW_EDITED, MEMORY = (
    later("truedraw.sampling.kernels.entry", name) for name in ("draw_one", "draw_edited_one", "memory")
)
"""The first two give (token, log of its probability by the law, log of its softmax); a negative token where there is no
law."""
NO_NAME: tuple[Words, Words] = np.zeros(4, np.uint64), np.zeros(2, np.uint64)
"""Of a draw that does not take place."""


class Drawn(NamedTuple):
    """A token and the natural logs of its probability, before and after the transforms; None: the log of p."""

    token: int
    logprob: float
    sampling_logprob: float | None


class RowDraws:
    """Draws from rows of one vocabulary, with memory that is made when first needed; so it serves one caller at a time.

    A draw depends on nothing that was drawn before. board: of a crew (threads/) whose helpers may take part.
    """

    def __init__(self, board: Ints = NOBODY) -> None:
        self._memory: Memory = (np.empty(0), np.empty(0), np.empty(0, np.int64), board)

    def draw(
        self, law: Law, logits: Logits, randomness: Randomness, purpose: Purpose, position: int, node: int
    ) -> Drawn | None:
        """What randomness.choose(law(logits), ...) draws, None where only the long way can tell."""
        found = fused(law, logits)
        if found is None or type(randomness) is not PhiloxRandomness:
            return None
        name = randomness.counter(purpose, position, node), randomness.key
        return self._run(logits, found.fused.how, (*name, True, DRAWN), found.edits())

    def given(self, law: Law, logits: Logits, token: int) -> Drawn | None:
        """A token that was chosen otherwise, with its logarithms; None where only the long way can tell.

        Where the second logarithm is that of p, it is not told.
        """
        found = fused(law, logits)
        if found is None:
            return None
        num_edits, how = found.fused
        of_p = num_edits > 0 or 0 < how.top_k < len(logits) or how.top_p < 1.0 or how.min_p > 0.0
        drawn = self._run(logits, Transform() if of_p else how, (*NO_NAME, True, token))
        return drawn._replace(sampling_logprob=None) if drawn is not None and of_p else drawn

    def _run(
        self, logits: Logits, how: Transform, draw: tuple[Words, Words, bool, int], edits: Edits | None = None
    ) -> Drawn | None:
        if (how.cuts or edits is not None) and len(self._memory[0]) != len(logits):
            self._memory = MEMORY()(len(logits), self._memory[-1])
        if edits is None:
            token, after, before = DRAW()(logits, tuple(how), draw, self._memory)
        else:
            token, after, before = DRAW_EDITED()(logits, tuple(how), draw, self._memory, tuple(edits))
        return None if token < 0 else Drawn(token, before, after)
