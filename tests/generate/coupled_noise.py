"""The oracle for drafts that share the target's noise: one hidden number a position, met as often as it is looked at.

The production draw is a race of exponential clocks; here it is the inverse of a distribution function at one of N
equally likely numbers, which is a coupling too, and exact for laws in multiples of 1 / N. So every law that comes from
sharing noise can be enumerated, right or wrong.
"""

from __future__ import annotations

import numpy as np

from truedraw.protocol import Purpose
from truedraw.testing.enumeration import SampleWalker, Walker

PARTS = 4
NOISE = 1 << 20  # a node that nothing else uses


class CoupledWalker(Walker):
    def sample(self, index: int) -> SampleWalker:
        return SharedNoise(self, index)


class SharedNoise(SampleWalker):
    def choose(self, weights, purpose, position, node=0):
        if purpose != Purpose.TARGET:
            return super().choose(weights, purpose, position, node)
        name = (self._index, Purpose.XTC, position, NOISE)  # the one purpose that may be looked at again
        part = self._walker.draw(name, [(i, 1 / PARTS) for i in range(PARTS)])
        edges = np.cumsum(weights) / np.sum(weights)
        return int(np.searchsorted(edges, (part + 0.5) / PARTS, side="right"))
