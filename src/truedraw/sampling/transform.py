"""Laws that compiled code knows as a whole: temperature, then top_k, top_p and min_p, the same at every place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from truedraw.sampling.step import Fixed, Step

MOST_TOKENS = 1 << 31
"""More than any vocabulary has: as a top_k it keeps all, and compiled code can hold it."""


class Transform(NamedTuple):
    """What is done to logits, named and applied as in SamplingParams; 0 tokens, mass 1 and ratio 0 switch off."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    @property
    def cuts(self) -> bool:
        """Whether tokens may be left out."""
        return self.top_k > 0 or self.top_p < 1.0 or self.min_p > 0.0


def fused(named: Sequence[tuple[str, Step]]) -> Transform | None:
    """The transform that these steps make up, None where it takes more, or another order."""
    values: dict[str, float] = {}
    for name, step in named:
        if name not in Transform._fields or not isinstance(step, Fixed) or step.value is None:
            return None
        values[name] = step.value
    if list(values) != [name for name in Transform._fields if name in values]:
        return None
    found = Transform(**values)  # type: ignore[arg-type]
    return Transform(
        float(found.temperature), min(round(found.top_k), MOST_TOKENS), float(found.top_p), float(found.min_p)
    )
