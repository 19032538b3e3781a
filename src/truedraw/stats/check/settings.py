"""How much a check looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from truedraw.errors import BadParameter
from truedraw.generate.derived_seeds import seed_after

Prompt = TypeVar("Prompt")

POWER = 0.99
"""Chance to find a bias as large as the stated smallest one."""

LARGE = 0.25
"""Total variation a token that every check must be able to see. Rules that ignore the draft's law do as much, or twice
that; a check that would not notice one of them says nothing, whatever it found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """alpha: chance of a false alarm of all statistics together. samples: texts of each prompt, `length` tokens each.

    Everything drawn follows from `seed`, so a check can be repeated exactly. Raises BadParameter.
    """

    alpha: float = 0.01
    samples: int = 16
    length: int = 32
    seed: int = 0
    prompts: int = 16  # at most so many of those given, evenly spread over them
    equality_prompts: int = 3
    equality_tokens: int = 48
    control_prompts: int = 2
    control_samples: int = 16
    control_bugs: int | None = None  # the first so many of planted.BUGS
    reference: bool = True  # measure the distance from reference numerics, which loads the model once more
    full_enumeration: bool = True  # False: short texts only

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 0.5:
            raise BadParameter("alpha", f"got {self.alpha!r}; give a chance of a false alarm above 0 and below 0.5")
        if self.samples < 2:
            raise BadParameter("samples", f"got {self.samples!r}; give 2 or more, as samples are compared")

    def seed_of(self, prompt: int) -> int:
        """Every prompt has a seed of its own."""
        return seed_after(self.seed, prompt)


def spread(prompts: Sequence[Prompt], count: int) -> list[Prompt]:
    """At most `count` of them, at equal distances: a file of prompts is often sorted by kind."""
    chosen = min(count, len(prompts))
    return [prompts[i * len(prompts) // chosen] for i in range(chosen)]


def quick(settings: Settings) -> Settings:
    """About a quarter of the work: larger biases only, and no second copy of the model."""
    return replace(
        settings,
        prompts=4,
        equality_prompts=1,
        control_prompts=1,
        control_bugs=5,
        reference=False,
        full_enumeration=False,
    )
