"""The nearest bfloat16, as numpy has it."""

from __future__ import annotations

import numpy as np


def nearest(numbers: np.ndarray) -> np.ndarray:
    """Its bits, of numbers that are some: of two the even one."""
    words = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    return ((words + 0x7FFF + (words >> 16 & 1)) >> 16).astype(np.uint16)
