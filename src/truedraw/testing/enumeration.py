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

from truedraw.protocol import Floats, Purpose

Outcome = TypeVar("Outcome", bound=Hashable)

PART_OF_THE_LAW = (Purpose.XTC,)

OTHERWISE = (
    "the same draws, made once more, were asked for with other weights: something remembers what was run before, or "
    "has randomness of its own"
)


class KeyReused(AssertionError):
    """Two draws had the same name: with real randomness they would be one number, and dependent."""


class Walker:
    """One branch of the tree of all draws."""

    def __init__(self, script: tuple[int, ...] = ()) -> None:
        self.script = script
        self.taken: list[int] = []
        self.options: list[list[tuple[int, float]]] = []
        self.probability = 1.0
        self._drawn: dict[tuple[int, ...], tuple[int, list[tuple[int, float]]]] = {}

    def sample(self, index: int) -> SampleWalker:
        """The chance of sample number `index` on this branch."""
        return SampleWalker(self, index)

    def draw(self, name: tuple[int, ...], options: list[tuple[int, float]]) -> int:
        """One draw of the given name over (value, probability); raises KeyReused for a name seen before.

        What is part of the law itself may be looked at again: the same name and the same options are the same draw.
        """
        if name in self._drawn:
            value, before = self._drawn[name]
            if name[1] in PART_OF_THE_LAW and options == before:
                return value
            raise KeyReused(str(name))
        step = len(self.taken)
        choice = self.script[step] if step < len(self.script) else 0
        if choice >= len(options):
            raise AssertionError(OTHERWISE)
        self.taken.append(choice)
        self.options.append(options)
        value, probability = options[choice]
        self.probability *= probability
        self._drawn[name] = value, options
        return value


class SampleWalker:
    """protocol.Randomness of one sample."""

    def __init__(self, walker: Walker, index: int) -> None:
        self._walker, self._index = walker, index

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        """Every index of positive weight is a branch."""
        options = shares(weights.tolist())
        return self._walker.draw((self._index, purpose, position, node), options)

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        """Two branches, unless one of them has no mass."""
        if not q > 0:
            raise AssertionError("a draft token that its own law excludes")
        chance = min(1.0, p / q)
        options = [(value, weight) for value, weight in ((1, chance), (0, 1.0 - chance)) if weight > 0]
        return bool(self._walker.draw((self._index, purpose, position, node), options))


def shares(weights: list[float]) -> list[tuple[int, float]]:
    """(index, probability) of the positive ones; raises AssertionError where there is none, or one is no weight."""
    total = math.fsum(weights) if all(0 <= w < math.inf for w in weights) else 0.0
    if not total > 0:
        raise AssertionError(f"nothing can be drawn with the weights {weights}")
    return [(i, w / total) for i, w in enumerate(weights) if w > 0]


def law_of(run: Callable[[Walker], Outcome], kind: type[Walker] = Walker) -> dict[Outcome, float]:
    """The exact law of what `run` returns, over every branch of the walker of this kind that it is given."""
    law: dict[Outcome, float] = defaultdict(float)
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        walker = kind(scripts.pop())
        outcome = run(walker)
        law[outcome] += walker.probability
        for step in range(len(walker.script), len(walker.taken)):
            scripts += [(*walker.taken[:step], other) for other in range(1, len(walker.options[step]))]
    return dict(law)


def total_variation(a: Mapping[Outcome, float], b: Mapping[Outcome, float]) -> float:
    """Half the sum of differences."""
    return 0.5 * math.fsum(abs(a.get(key, 0.0) - b.get(key, 0.0)) for key in a.keys() | b.keys())
