"""Texts without meaning, for what is asked of an engine itself."""

from __future__ import annotations

import numpy as np

from truedraw.protocol import Ints

MULTIPLIER, OFFSET = 7919, 31  # so that they visit the whole vocabulary


def meaningless(count: int, vocab_size: int) -> Ints:
    """The tokens of a text, [count]."""
    return (np.arange(count) * MULTIPLIER + OFFSET) % vocab_size
