"""A weight matrix in the form in which a constant holds it, and as the numbers that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.bfloat16 import widened

INT4_BITS = 4
LOW_HALF = 2**INT4_BITS - 1


@dataclass(frozen=True, slots=True)
class Matrix:
    """A weight matrix in the form in which a constant holds it: scales * (values - zero) + least, or only values."""

    values: NDArray[Any]
    """[out, in] int8, float16, float32 or uint16 (the bits of bfloat16); [out, in / 2] uint8: two codes of 4 bits a
    byte, the first in the low half."""
    scales: NDArray[np.float32] | None = None  # [out, groups]
    zero: int = 0
    least: NDArray[np.float32] | None = None  # [out, groups]; no graph has these
    nested: tuple[NDArray[Any], ...] = ()  # see protocol.Packed

    @property
    def width(self) -> int:
        """Input features."""
        return int(self.values.shape[1]) * (2 if self.values.dtype == np.uint8 else 1)

    @property
    def form(self) -> tuple[object, ...]:
        """Matrices of one form can be stacked."""
        groups = None if self.scales is None else self.scales.shape[1]
        return self.values.dtype, groups, self.zero, self.least is None, len(self.nested)


def dense(matrix: Matrix) -> NDArray[np.float32]:
    """[out, in], scales * (values - zero) + least."""
    values = matrix.values
    if values.dtype == np.uint16:
        return widened(values)
    if values.dtype == np.uint8:
        values = unpacked(values)
    numbers: NDArray[np.float32] = values.astype(np.float32) - np.float32(matrix.zero)
    if matrix.scales is None:
        return numbers
    grouped = numbers.reshape(len(numbers), matrix.scales.shape[1], -1) * matrix.scales[:, :, None]
    if matrix.least is not None:
        grouped += matrix.least[:, :, None]
    return np.asarray(grouped.reshape(numbers.shape), np.float32)


def unpacked(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[out, in] of codes of 4 bits, two a byte."""
    return np.stack([values & LOW_HALF, values >> INT4_BITS], -1).reshape(len(values), -1)
