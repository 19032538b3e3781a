"""Numbers as float16, in which features and the folders of drafts have them, and as whoever runs such a folder does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.checkpoint import Arrays
from truedraw.engine.constants.matrix import dense
from truedraw.engine.constants.rounding import quantise

HALF = np.dtype("<f2")
LARGEST = float(np.finfo(HALF).max)


def halved(values: NDArray[Any]) -> NDArray[np.float16]:
    """As float16; what that has no room for becomes its largest number."""
    found: NDArray[np.float16] = np.clip(values, -LARGEST, LARGEST).astype(HALF)
    return found


def as_run(tensors: Arrays) -> Arrays:
    """What a draft of these tensors computes with: int8 matrices, of numbers that were float16 in its folder."""
    half = {name: halved(values).astype(np.float32) for name, values in tensors.items()}
    return {name: dense(quantise(values)) if values.ndim == 2 else values for name, values in half.items()}
