"""How a matrix of codes lies in memory where products read it once, from its beginning to its end.

LANES output rows stand side by side, so that one instruction works for many of them, and of each row two input
features, which is what the instruction multiplies and adds at once. A block is what shares a scale a row: SIZE input
features of these rows, or fewer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.file import GROUP, codes_of
from truedraw.engine.openvino.dense import dense
from truedraw.engine.openvino.weights import Matrix

LANES = 64
SIZE = GROUP
"""A sum of SIZE products of int8 and int16 fits into 32 bits; one of 600 would not."""


class Blocks(NamedTuple):
    """A matrix [out, in], filled up with zeros."""

    codes: NDArray[np.int8]  # [tiles of LANES outputs, blocks, pairs of inputs, LANES, 2]
    scales: NDArray[np.float32]  # [tiles, blocks, LANES]


def blocks_of(matrix: Matrix) -> Blocks:
    """A copy: int8 codes as they are, all else rounded as a head's own matrices are."""
    held = matrix if _fits(matrix) else codes_of(dense(matrix))
    assert held.scales is not None
    groups = held.scales.shape[1]
    if groups == 1:  # the scale of a row serves all of its blocks
        return _laid(held.values, held.scales, min(SIZE, _even(held.width)))
    return _laid(held.values, held.scales, min(SIZE, held.width // groups))


def _fits(matrix: Matrix) -> bool:
    """Codes whose groups are blocks, or whole blocks."""
    if matrix.values.dtype != np.int8 or matrix.scales is None or matrix.zero:
        return False
    group = matrix.width // matrix.scales.shape[1]
    return group == matrix.width or not group % SIZE or (group < SIZE and not group % 2)


def _laid(values: NDArray[Any], scales: NDArray[np.float32], size: int) -> Blocks:
    out, width = values.shape
    tiles, blocks = -(-out // LANES), -(-width // size)
    codes = np.zeros((tiles * LANES, blocks * size), np.int8)
    codes[:out, :width] = values
    each = np.zeros((tiles * LANES, blocks), np.float32)
    each[:out] = np.repeat(scales, -(-blocks // scales.shape[1]), axis=1)
    pairs = codes.reshape(tiles, LANES, blocks, size // 2, 2).transpose(0, 2, 3, 1, 4)
    sizes = each.reshape(tiles, LANES, blocks).transpose(0, 2, 1)
    return Blocks(np.ascontiguousarray(pairs), np.ascontiguousarray(sizes))


def _even(number: int) -> int:
    return number + number % 2
