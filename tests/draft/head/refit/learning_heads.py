"""Heads over tables that go on learning while every branch of a run is walked, as fast as they can."""

from __future__ import annotations

from itertools import count

import numpy as np

from draft.head.seeing import KNOWN, SAYS, TableCell
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head.refit import descent, learning
from truedraw.draft.head.refit.allowance import Allowance
from truedraw.draft.head.refit.learning import Refit
from truedraw.draft.siblings import Siblings
from truedraw.draft.trees import Trees

SMALL = 400  # bytes: a handful of places, so that old ones go
HUGE = (200.0, 200.0, 200.0)
LINEAR = 10.0  # beside a gradient's root, that a first step differs from place to place
PLENTY = 1e12  # times what passes


class ShowingCell(TableCell):
    """Shows its state: the text's last token, one-hot."""

    def shown(self, states):
        return np.asarray(states)


def ample() -> Allowance:
    """By a clock that goes on by a nanosecond whenever it is looked at."""
    return Allowance(PLENTY, count(0, 1e-9).__next__)


class Eager(Refit):
    """Drafts with what it learnt from the first step on, whether that helps or not."""

    def __init__(self, cell, width, **more) -> None:
        super().__init__(cell, width, allowance=ample(), **more)
        self.steps: list[float] = []

    @property
    def helps(self) -> bool:
        return self.is_on and bool(self.steps)

    def _step(self, fresh: int) -> None:
        super()._step(fresh)
        self.steps.append(mark(self._learnt))


def mark(correction) -> float:
    """A number that two corrections seldom share."""
    parts = np.concatenate([part.ravel() for part in correction]).astype(np.float64)
    return round(float(parts @ np.sqrt(1 + np.arange(len(parts)))), 5)


def hurry(monkeypatch) -> None:
    """A step after every round, on all there is, and a long one."""
    for name in ("FEWEST", "FRESH", "OTHERS"):
        monkeypatch.setattr(learning, name, 1)
    monkeypatch.setattr(learning, "AT_ONCE", 3)
    monkeypatch.setattr(descent, "RATES", HUGE)
    monkeypatch.setattr(descent, "LEAST", LINEAR)


def learner(cell=None, width=3) -> Eager:
    return Eager(cell or ShowingCell(), width, size_bytes=SMALL)


def learning_head(kind=HeadDrafter, refit=None, trees=None, vocab=3, **more):
    """A drafter that learns from what it drafts."""
    refit = refit or learner()
    drafter = kind.over(refit.cell(), trees or Trees(Siblings((0.5, 0.2)), 3), vocab, **more)
    drafter.refit = refit
    return drafter


__all__ = ["KNOWN", "SAYS", "Eager", "ShowingCell", "ample", "hurry", "learner", "learning_head", "mark"]
