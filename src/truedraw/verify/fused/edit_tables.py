"""What the laws of many texts edit, as one table of where that lies: texts have arrays of their own lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import later
from truedraw.sampling.edits import Edits

ADDRESS = later("truedraw.verify.fused.plainly", "address_of")
ARRAYS = 10  # of Edits, in their order
Table = tuple[Any, ...]
"""() where nothing is edited, else (whether a text has edits [texts]; addresses and lengths of its arrays
[texts, ARRAYS, 2]; its repetition, frequency and presence [texts, 3])."""


def table(edits: Sequence[Edits | None]) -> Table:
    """As plainly.py reads it, while these edits are held."""
    if not any(each is not None for each in edits):
        return ()
    some = np.array([each is not None for each in edits], np.bool_)
    places, numbers = np.zeros((len(edits), ARRAYS, 2), np.int64), np.zeros((len(edits), 3))
    for text, each in enumerate(edits):
        if each is not None:
            places[text] = [(address(array), len(array)) for array in arrays(each)]
            numbers[text] = each.repetition, each.frequency, each.presence
    return some, places, numbers


def arrays(edits: Edits) -> Iterator[NDArray[Any]]:
    """All of them."""
    yield from (edits.biased, edits.bias, *edits.text, *edits.output, edits.banned, edits.allowed)


def address(array: NDArray[Any]) -> int:
    """0 where there is nothing."""
    return int(ADDRESS()(array)) if len(array) else 0
