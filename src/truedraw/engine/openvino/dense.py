"""A weight matrix as the numbers that it stands for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.openvino.weights import INT4_BITS, Matrix

BFLOAT_BITS = 16  # of a float32 that bfloat16 lacks
LOW_HALF = 2**INT4_BITS - 1


def dense(matrix: Matrix) -> NDArray[np.float32]:
    """[out, in], scales * (values - zero)."""
    values = matrix.values
    if values.dtype == np.uint16:
        return (values.astype(np.uint32) << BFLOAT_BITS).view(np.float32)
    if values.dtype == np.uint8:
        values = np.stack([values & LOW_HALF, values >> INT4_BITS], -1).reshape(len(values), -1)
    numbers: NDArray[np.float32] = values.astype(np.float32) - np.float32(matrix.zero)
    if matrix.scales is None:
        return numbers
    grouped = numbers.reshape(len(numbers), matrix.scales.shape[1], -1) * matrix.scales[:, :, None]
    return np.asarray(grouped.reshape(numbers.shape), np.float32)
