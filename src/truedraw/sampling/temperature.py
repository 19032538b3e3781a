"""Temperatures of a further kind: one that follows the entropy of each law, and multiples of any other.

Hot where the model is unsure, cold where it is certain:

    T = low + (high - low) (H / ln n)^exponent,   low = max(0, temperature - range),   high = temperature + range

H is the entropy in nats, before any temperature, of the n tokens that are possible at this place. This is llama.cpp's
dynatemp (its --dynatemp-range and --dynatemp-exp); a single possible token stays as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from truedraw.protocol import Floats
from truedraw.sampling.row import Row
from truedraw.sampling.step import Fixed, Step
from truedraw.sampling.truncate import entropy


def dynamic_temperature(row: Row, temperature: float, span: float, exponent: float) -> None:
    """Temper by the row's own entropy; `span` is dynatemp_range."""
    logits = row.lowered()
    possible = logits > -np.inf
    values = logits if possible.all() else logits[possible]
    if values.size == 1:
        return
    low = max(0.0, temperature - span)
    share = min(1.0, max(0.0, nats(values) / math.log(values.size)))
    row.temper(low + (temperature + span - low) * share**exponent)


def nats(logits: Floats) -> float:
    """The entropy of softmax(logits); logits [n] finite, their largest 0."""
    weights = np.exp(logits)
    total = float(weights.sum())
    return math.log(total) + entropy(weights, np.negative(logits)) / total


def times(step: Step | None, ratio: float) -> Step:
    """The step of `ratio` times the temperature; None stands for a temperature of 1."""
    if step is None:
        return fixed(ratio)
    if isinstance(step, Fixed) and step.value is not None:
        return fixed(ratio * step.value)
    return Tempered(step, ratio)


def fixed(temperature: float) -> Fixed:
    """One temperature at every place."""
    return Fixed(lambda row: row.temper(temperature), temperature)


@dataclass(frozen=True, slots=True)
class Tempered:
    """A step that decides a temperature, and one more behind it."""

    step: Step
    ratio: float

    def __call__(self, row: Row) -> None:
        """Change the row."""
        self.step(row)
        row.temper(self.ratio)

    def after(self, token: int, p: Floats | None) -> Tempered:
        """One token further."""
        return replace(self, step=self.step.after(token, p))
