"""XTC, exclude top choices (p-e-w, 2024; llama.cpp's xtc): now and then the obvious tokens are left out.

With probability xtc_probability, all tokens of probability xtc_threshold or more are dropped except the least likely
one of them. The coin belongs to the absolute position: it is known by name before any token is drawn or drafted there,
so given the coins the law is an ordinary one, and every verifier keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from truedraw.protocol import Floats, Purpose, Randomness
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.row import Row
from truedraw.sampling.step import Opening, Step
from truedraw.sampling.truncate import without_top_choices


@dataclass(frozen=True, slots=True)
class Xtc:
    """The step at `position`, the place in the text of the token it decides on."""

    probability: float
    threshold: float
    randomness: Randomness
    position: int

    def __call__(self, row: Row) -> None:
        """Leave the top choices out where the position's coin says so."""
        if self.randomness.accept(self.probability, 1.0, Purpose.XTC, self.position):
            row.keep(without_top_choices(row.p, self.threshold))

    def after(self, token: int, p: Floats | None) -> Xtc:
        """The next position, with a coin of its own."""
        return replace(self, position=self.position + 1)


def xtc(params: SamplingParams, opening: Opening) -> Step | None:
    """The step, None where it is off."""
    if params.xtc_probability == 0.0:
        return None
    if opening.randomness is None:
        raise ValueError("xtc_probability tosses coins: open the law with the sample's randomness")
    return Xtc(params.xtc_probability, params.xtc_threshold, opening.randomness, len(opening.prompt))
