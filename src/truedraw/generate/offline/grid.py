"""The points of a sweep, and the samples to draw at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from truedraw.errors import BadParameter
from truedraw.generate.derived_seeds import derived_seed
from truedraw.sampling.values import shortest

MOST_POINTS = 1 << 16  # all are checked, and held, before the first sample
AXES = ("temperature", "top_p", "min_p", "top_k")
"""The sampling parameters that a sweep can vary, in the order of its points' names."""

Value = int | float


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of values."""

    values: tuple[tuple[str, Value], ...]

    @property
    def name(self) -> str:
        """For people and for seeds: "temperature=0.7 top_p=0.9"; 1 and 1.0 are the same."""
        return " ".join(f"{axis}={shortest(value)}" for axis, value in self.values)

    def params(self) -> dict[str, Value]:
        """As sampling parameters."""
        return dict(self.values)


@dataclass(frozen=True, slots=True)
class Draw:
    """One sample of a sweep. Its seed is its own, so that it can be drawn again without the others."""

    prompt: int  # from 0
    point: Point
    sample: int  # from 0

    def seed(self, seed: int) -> int:
        """derived_seed(seed of the sweep, prompt, name of the point, sample)."""
        return derived_seed(seed, self.prompt, self.point.name, self.sample)

    def head(self) -> dict[str, Any]:
        """The beginning of its record."""
        return {"prompt": self.prompt, "sample": self.sample, **self.point.params()}


def points(grid: Mapping[str, Sequence[Value]]) -> list[Point]:
    """All combinations of the values of each axis; raises BadParameter where they are more than MOST_POINTS."""
    axes = [axis for axis in AXES if grid.get(axis)]
    if (number := prod(len(grid[axis]) for axis in axes)) > MOST_POINTS:
        longest = max(axes, key=lambda axis: len(grid[axis]))
        raise BadParameter(longest, f"the grid has {number:,} points; give fewer values, for {MOST_POINTS:,} at most")
    return [Point(tuple(zip(axes, values, strict=True))) for values in product(*(grid[axis] for axis in axes))]


def point_of(record: Mapping[str, Any]) -> Point:
    """The point that a record was drawn at."""
    return Point(tuple((axis, record[axis]) for axis in AXES if axis in record))


def draws(num_prompts: int, at: Sequence[Point], n: int) -> Iterator[Draw]:
    """Every sample: those of one prompt stand together, for they share its computation."""
    for prompt in range(num_prompts):
        for point in at:
            for sample in range(n):
                yield Draw(prompt, point, sample)
