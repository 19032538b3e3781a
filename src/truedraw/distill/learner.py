"""A head that learns from windows of rows, for training.py."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.evaluation import SCORE, Measured, measured
from truedraw.distill.gradients import Blend, Seen, gradient
from truedraw.distill.head import Head
from truedraw.distill.kinds import network_of
from truedraw.distill.looking_back import length_for
from truedraw.distill.plan import HeadPlan
from truedraw.distill.rounding import as_if_read, written_as_read
from truedraw.distill.rows import Rows
from truedraw.distill.starting import (
    KNOWN,
    SCALE,
    WEIGHT,
    bridged,
    first_arrays,
    head_of,
    learnt_arrays,
    optimiser_of,
    rounded,
)
from truedraw.distill.tables import Tables
from truedraw.distill.training import Training
from truedraw.distill.wide.rows import DeviceRows
from truedraw.distill.windows import windows


class HeadLearner:
    """learning.Learner; `arrays`: where it stood after `step` steps, None: at the beginning."""

    def __init__(self, data: Rows, tables: Tables, plan: HeadPlan, arrays: Arrays | None, step: int) -> None:
        self._data, self._tables, self._plan, network = data, tables, plan, network_of(plan)
        found = first_arrays(data, tables, plan) if arrays is None else arrays
        self.head = head_of(network, tables, found, data.device)
        if arrays is None and not plan.further:
            bridged(self.head)
        self._written = written_as_read(self.head)
        self.positions, self.weights = network.positions, self.head.weights
        self.optimiser = optimiser_of(self.weights, plan.rate, found, step)

    @property
    def held_out(self) -> str:
        """See learning.Learner."""
        return self._data.held_name

    def gradient(self, step: int, blend: Blend, look: bool) -> tuple[Seen | None, int]:
        """See learning.Learner."""
        where = windows(self._data, self._plan.seed, step, self.positions, length_for(self.head.network))
        head = as_if_read(self._written) if blend.share else self._written
        return gradient(head, where, blend, look), int(where.counts(1).sum())

    def look(self) -> Measured:
        """See learning.Learner."""
        return measured(as_if_read(self._written), self._data, SCORE, self._data.looked)

    def arrays(self, moments: bool = True) -> Arrays:
        """See learning.Learner."""
        fixed: Arrays = {KNOWN: self.head.known.tokens, SCALE: self.head.scale.cpu().numpy()}
        return {**learnt_arrays(self.weights, self.optimiser, moments), **fixed}

    def measurable(self) -> tuple[Head, Rows]:
        """The head and held-out text, or all text, on the processor."""
        data = self._data
        if not isinstance(data, DeviceRows):
            return self.head, data
        found, network = self.arrays(moments=False), self.head.network
        return head_of(network, self._tables, found), data.held_part()

    def head_with(self, arrays: Arrays) -> Head:
        """The head with the weights in `arrays`, to be measured."""
        return rounded(self.head, {name: arrays[WEIGHT + name] for name in self.weights})


def head_training(
    data: Rows, tables: Tables, plan: HeadPlan, path: Path, overwrite: bool = False
) -> Training[HeadLearner]:
    """One head over some rows."""
    return Training(path, plan, partial(HeadLearner, data, tables, plan), overwrite)
