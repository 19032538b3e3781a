"""What training.py asks of whatever learns, and of how it is to learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.evaluation import Measured
from truedraw.distill.gradients import Blend, Seen

Tensor = Any  # torch.Tensor


class Learner(Protocol):
    """A draft that learns: its network, its texts, its optimiser, out of arrays and into arrays.

    weights: in one order always, for the length of a gradient is summed in it.
    """

    @property
    def positions(self) -> int:
        """That are learnt, of a chain."""
        ...

    @property
    def held_out(self) -> str:
        """The name of the rows that are: see rows.Rows."""
        ...

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """What is learnt, by name."""
        ...

    @property
    def optimiser(self) -> Any:
        """Of these weights."""
        ...

    def gradient(self, step: int, blend: Blend, look: bool) -> tuple[Seen | None, int]:
        """Add that of a step, whose number alone says what it is of; what was seen, and how many rows were learnt."""
        ...

    def look(self) -> Measured:
        """At held-out text, at temperature 1."""
        ...

    def arrays(self, moments: bool = True) -> Arrays:
        """To begin again from, `moments`: with what the optimiser remembers."""
        ...


class Course(Protocol):
    """How a plan has it learnt."""

    @property
    def loss(self) -> str:
        """A name of losses.py."""
        ...

    @property
    def rate(self) -> float:
        """Of learning, at its highest."""
        ...

    @property
    def further(self) -> bool:
        """Whether what learns has learnt before."""
        ...
