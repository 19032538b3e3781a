"""What the compiled parts of a round tell one another: the draft, the pass and the rule, one after the other.

A part reads what those before it wrote; between rounds all of it stands for the text.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from truedraw.protocol.arrays import Floats, Ints

POSITION, COUNT, ACCEPTED, REJECTED, DRAFTED = range(5)
"""Numbers of a slate. Tokens of the text before the round; those that the last one brought, of them accepted drafts,
and whether a draft was refused; how many were drafted."""
SIZE = 8


class Slate(NamedTuple):
    """Of a text whose rounds draft a chain of n tokens each."""

    numbers: Ints  # [SIZE]
    last: Ints  # [1 + n], the tokens that the last round brought; the first COUNT of them
    tokens: Ints  # [n], drafted
    parents: Ints  # [n]
    laws: Ints  # [n, 3], see verify/fused/tree.py
    sure: Floats  # [n], confidence in the drafts
    edited: tuple[Any, ...] = ()  # what the law edits, see sampling/tallies.py

    @classmethod
    def of(cls, drafts: int, edited: tuple[Any, ...] = ()) -> Self:
        """With nothing on it; the law edits this."""
        chain, laws = np.arange(-1, drafts - 1, dtype=np.int64), np.zeros((drafts, 3), np.int64)
        tokens = np.zeros(drafts, np.int64)
        numbers, last = np.zeros(SIZE, np.int64), np.zeros(1 + drafts, np.int64)
        return cls(numbers, last, tokens, chain, laws, np.zeros(drafts), edited)
