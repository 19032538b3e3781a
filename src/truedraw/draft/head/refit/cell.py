"""A cell with a correction on top, which stays the same from one `begin` to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.cell import Cell, Memory, Past, States, memory_of, shown
from truedraw.draft.head.refit.correction import Correction, Reals
from truedraw.protocol import Ints, Logits


class Learner(Protocol):
    """Who is told how drafts went, and learns from that between rounds."""

    @property
    def listens(self) -> bool:
        """Whether places are wanted now."""
        ...

    def saw(self, said: tuple[Reals, Logits], target: Logits, temperature: float, *, is_rejected: bool) -> None:
        """At a place: what a cell showed [width] and said [known], and the target's logits [vocab].

        is_rejected: none of the candidates there was kept.
        """
        ...

    def between_rounds(self) -> None:
        """Nothing of the next round is drawn yet."""
        ...


class CorrectedCell:
    """draft.head.cell.Cell over another one. `now` is asked for the correction by each `begin`, and by no `step`.

    So all levels of a proposal, and all texts of one call, have the same. `learner`: who makes it, where somebody does.
    """

    def __init__(self, cell: Cell, now: Callable[[], Correction], learner: Learner | None = None) -> None:
        self.tokens, self.inner, self.learner, self._now = cell.tokens, cell, learner, now
        self._correction = now()
        self.raw: Logits = np.zeros((0, len(cell.tokens)), np.float32)
        """Of the last call, without the correction; may be overwritten by the next."""

    @property
    def correction(self) -> Correction:
        """The one that the last `begin` took."""
        return self._correction

    def memory(self) -> Memory | None:
        """draft.head.cell.Remembers."""
        return memory_of(self.inner)

    def begin(self, features: NDArray[np.float32], last: Ints, *pasts: Past) -> tuple[States, Logits]:
        """See Cell and Remembers."""
        self._correction = self._now()
        return self._corrected(*self.inner.begin(features, last, *pasts))

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """See Cell."""
        return self._corrected(*self.inner.step(states, tokens))

    def shown(self, states: States) -> States:
        """draft.head.cell.Shows."""
        return shown(self.inner, states)

    def _corrected(self, states: States, logits: Logits) -> tuple[States, Logits]:
        self.raw = logits
        return states, self._correction.of(shown(self.inner, states), logits)


def learner_of(cell: Cell) -> Learner | None:
    """Who learns from what is drafted with it, if somebody does."""
    return cell.learner if isinstance(cell, CorrectedCell) else None
