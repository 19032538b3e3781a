"""A head that learns from windows of rows, for training.py."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.evaluation import SCORE, Measured, measured
from truedraw.distill.gradients import Blend, Seen, gradient
from truedraw.distill.head import Head
from truedraw.distill.kinds import network_of
from truedraw.distill.plan import HeadPlan
from truedraw.distill.rows import Rows
from truedraw.distill.starting import WEIGHT, bridged, first_arrays, head_of, learnt_arrays, optimiser_of, rounded
from truedraw.distill.tables import Tables
from truedraw.distill.training import Training
from truedraw.distill.windows import windows

LOOK_ROWS = 1500  # of held-out text


class HeadLearner:
    """learning.Learner; `arrays`: where it stood after `step` steps, None: at the beginning."""

    def __init__(self, data: Rows, tables: Tables, plan: HeadPlan, arrays: Arrays | None, step: int) -> None:
        self._data, self._plan, network = data, plan, network_of(plan)
        found = first_arrays(data, tables, plan) if arrays is None else arrays
        self.head = head_of(network, tables, found)
        if arrays is None and not plan.further:
            bridged(self.head)
        self.positions, self.weights = network.positions, self.head.weights
        self.optimiser = optimiser_of(self.weights, plan.rate, found, step)

    @property
    def held_out(self) -> str:
        """See learning.Learner."""
        return self._data.held_name

    def gradient(self, step: int, blend: Blend, look: bool) -> tuple[Seen | None, int]:
        """See learning.Learner."""
        where = windows(self._data, self._plan.seed, step, self.positions)
        return gradient(self.head, where, blend, look), int(where.counts(1).sum())

    def look(self) -> Measured:
        """See learning.Learner."""
        return measured(self.head, self._data, SCORE, LOOK_ROWS)

    def arrays(self, moments: bool = True) -> Arrays:
        """See learning.Learner."""
        fixed: Arrays = {"tokens": self.head.known.tokens, "scale": self.head.scale.numpy()}
        return {**learnt_arrays(self.weights, self.optimiser, moments), **fixed}

    def head_with(self, arrays: Arrays) -> Head:
        """The head with the weights in `arrays`, to be measured."""
        return rounded(self.head, {name: arrays[WEIGHT + name] for name in self.weights})


def head_training(
    data: Rows, tables: Tables, plan: HeadPlan, path: Path, overwrite: bool = False
) -> Training[HeadLearner]:
    """One head over some rows."""
    return Training(path, plan, partial(HeadLearner, data, tables, plan), overwrite)
