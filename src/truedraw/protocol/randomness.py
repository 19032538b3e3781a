"""All chance of a sample, injected."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

from truedraw.protocol.arrays import Floats


class Purpose(IntEnum):
    """What a number is drawn for. Draws of different purpose are independent, whatever else they share."""

    TARGET = 0  # coupled verification: the noise of a position, shared by everyone who draws that position
    DRAFT = 1
    ACCEPT = 2
    RESIDUAL = 3
    XTC = 4  # part of the law: one coin a position, looked at as often as the law is, always the same
    AUDIT = 5  # whether a draft that need not be verified is verified after all


class Randomness(Protocol):
    """All chance of one sample, injected, so that a test can walk every branch of the code that uses it.

    A draw is named, not ordered: (purpose, position, node) and the sample's own (seed, index) determine its outcome.
    `position` is an absolute position in the text (prompt included). Under coupled verification it is the position
    the token takes. Under the p/q rules it is the length of the committed text at the start of the round, which
    no two rounds share, and `node` counts inside the round.
    """

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        """An index drawn with probability weights / sum(weights); weights [vocab] >= 0, sum > 0."""
        ...

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        """True with probability min(1, p / q); never where p is 0; q > 0."""
        ...
