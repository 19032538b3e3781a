"""bfloat16, which numpy does not know: the upper half of a float32, here as uint16."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BFLOAT_BITS = 16  # of a float32 that a bfloat16 lacks


def widened(halves: NDArray[Any]) -> NDArray[np.float32]:
    """The same numbers as float32, of uint16; a copy."""
    bits = halves.astype(np.uint32)
    bits <<= BFLOAT_BITS
    return bits.view(np.float32)


def narrowed(numbers: NDArray[Any]) -> NDArray[np.uint16]:
    """Of float32, or its bits as uint32: what is in the lower bits is cut off; a copy."""
    found: NDArray[np.uint16] = (numbers.view(np.uint32) >> BFLOAT_BITS).astype(np.uint16)
    return found
