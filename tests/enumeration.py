"""The oracle: runs production code on every branch of its injected randomness and adds up the law of its outcome.

A Walker stands in for the randomness of all samples of a run. It follows a script of choices, and past the end of the
script it takes the first option and remembers that there were others; `law_of` replays the code until no option is
left. Nothing is sampled, so nothing is uncertain.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

import numpy as np

from truedraw.protocol import Floats, Purpose

Outcome = TypeVar("Outcome", bound=Hashable)


class KeyReused(AssertionError):
    """Two draws had the same name: with real randomness they would be one number, and dependent."""


class Walker:
    """One branch of the tree of all draws."""

    def __init__(self, script: tuple[int, ...] = ()) -> None:
        self.script = script
        self.taken: list[int] = []
        self.options: list[list[tuple[int, float]]] = []
        self.probability = 1.0
        self._names: set[tuple[int, ...]] = set()

    def sample(self, index: int) -> SampleWalker:
        return SampleWalker(self, index)

    def draw(self, name: tuple[int, ...], options: list[tuple[int, float]]) -> int:
        if name in self._names:
            raise KeyReused(str(name))
        self._names.add(name)
        step = len(self.taken)
        choice = self.script[step] if step < len(self.script) else 0
        self.taken.append(choice)
        self.options.append(options)
        value, probability = options[choice]
        self.probability *= probability
        return value


class SampleWalker:
    """protocol.Randomness of one sample."""

    def __init__(self, walker: Walker, index: int) -> None:
        self._walker, self._index = walker, index

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        assert np.isfinite(weights).all()
        assert (weights >= 0).all()
        total = math.fsum(weights.tolist())
        assert total > 0
        options = [(i, w / total) for i, w in enumerate(weights.tolist()) if w > 0]
        return self._walker.draw((self._index, purpose, position, node), options)

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        assert q > 0, "a draft token that its own law excludes"
        chance = min(1.0, p / q)
        options = [(value, weight) for value, weight in ((1, chance), (0, 1.0 - chance)) if weight > 0]
        return bool(self._walker.draw((self._index, purpose, position, node), options))


def law_of(run: Callable[[Walker], Outcome]) -> dict[Outcome, float]:
    """The exact law of what `run` returns, over every branch of the walker it is given."""
    law: dict[Outcome, float] = defaultdict(float)
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        walker = Walker(scripts.pop())
        outcome = run(walker)
        law[outcome] += walker.probability
        for step in range(len(walker.script), len(walker.taken)):
            scripts += [(*walker.taken[:step], other) for other in range(1, len(walker.options[step]))]
    return dict(law)


def total_variation(a: Mapping[Outcome, float], b: Mapping[Outcome, float]) -> float:
    """Half the sum of differences."""
    return 0.5 * math.fsum(abs(a.get(key, 0.0) - b.get(key, 0.0)) for key in a.keys() | b.keys())
