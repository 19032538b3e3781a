"""Laws that compiled code knows as a whole: edits, which may depend on the text, then temperature, top_k, top_p and
min_p, the same at every place.

Here and nowhere else is decided which laws these are, and which rows: whoever draws a token, writes p down or tells a
logarithm asks `fused`, so all do it in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import Law, Logits
from truedraw.sampling.edits import Edits
from truedraw.sampling.step import Editing, Fixed, Step

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


class Fused(NamedTuple):
    """What the steps of a law make up: so many that edit, and what follows them."""

    num_edits: int
    how: Transform


class FusedLaw(Protocol):
    """A law of which that is known."""

    fused: Fused
    is_counted: bool

    def edits(self) -> Edits | None:
        """What is edited at this place, None where the law edits nowhere."""
        ...


def fused(law: Law, logits: Logits) -> FusedLaw | None:
    """The law, where compiled code knows it and is compiled for such a row."""
    if getattr(law, "fused", None) is None or not suits(logits):
        return None
    return law  # type: ignore[return-value] # it has what a FusedLaw has


def counted(law: Law) -> FusedLaw | None:
    """The law, where compiled code knows it at all places to come: what it edits, if anything, is fixed or counted."""
    if getattr(law, "fused", None) is None or not law.is_counted:  # type: ignore[attr-defined] # as a FusedLaw has
        return None
    return law  # type: ignore[return-value]


def suits(logits: Logits) -> bool:
    """Whether the kernels are compiled for such a row."""
    return fits(logits, np.float32)


def fits(values: NDArray[Any], kind: type[np.generic]) -> bool:
    """Whether compiled code is there for such an array: for another kind it would be compiled anew."""
    dtype = values.dtype
    return dtype.type is kind and dtype.isnative and values.flags.carray


def fused_steps(named: Sequence[tuple[str, Step]]) -> Fused | None:
    """What these steps make up, None where it takes more, or another order."""
    edits = [step for name, step in named if not name]
    if not all(isinstance(step, Editing) for step in edits) or any(not name for name, _ in named[len(edits) :]):
        return None
    how = transform_of(named[len(edits) :])
    return None if how is None else Fused(len(edits), how)


def transform_of(named: Sequence[tuple[str, Step]]) -> Transform | None:
    """The transform that steps make up, None where it takes more, or another order."""
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
