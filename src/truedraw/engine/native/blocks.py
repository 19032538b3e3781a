"""How a matrix of codes lies in memory where products read it once, from its beginning to its end.

LANES output rows stand side by side, so that one instruction works for many of them, and of each row QUAD input
features, which is what the instruction multiplies and adds at once. A block is SIZE input features of these rows, or
fewer where fewer share a scale. Codes are held without a sign, as the instruction wants one of its two factors: 128
stands for 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.openvino.matrix import Matrix, dense
from truedraw.engine.openvino.rounding import GROUP, codes_of

LANES, QUAD = 64, 4
SIZE = GROUP
"""Input features of a block, of which activations share a scale, too. With 32 many rows take half as long again."""
ZERO = 128


class Blocks(NamedTuple):
    """A matrix [out, in], filled up with zeros."""

    codes: NDArray[np.uint8]  # [tiles of LANES outputs, blocks, quads of inputs, LANES, QUAD]
    scales: NDArray[np.float32]  # [tiles, blocks, LANES]; [tiles, 1, LANES] where a row has one

    @property
    def size(self) -> int:
        """Input features of a block."""
        return int(self.codes.shape[2]) * QUAD


def blocks_of(matrix: Matrix, size: int = SIZE) -> Blocks:
    """A copy, in blocks of `size` or less: integer codes as they are, all else rounded as `codes_of` does."""
    held = _integers(matrix)
    assert held.scales is not None
    groups = held.scales.shape[1]
    return _laid(held, min(size, _whole_quads(held.width) if groups == 1 else held.width // groups))


def _integers(matrix: Matrix) -> Matrix:
    """int8 codes around 0 whose groups are whole rows, whole blocks, or blocks."""
    if matrix.scales is None or not _fits(matrix.width, matrix.scales.shape[1]):
        return codes_of(dense(matrix))
    if matrix.values.dtype == np.int8 and not matrix.zero:
        return matrix
    return Matrix(np.rint(dense(Matrix(matrix.values, None, matrix.zero))).astype(np.int8), matrix.scales)


def _fits(width: int, groups: int) -> bool:
    group = width // groups
    return groups == 1 or not group % SIZE or (group < SIZE and not group % QUAD)


def _laid(held: Matrix, size: int) -> Blocks:
    assert held.scales is not None
    out, width = held.values.shape
    tiles, blocks, groups = -(-out // LANES), -(-width // size), held.scales.shape[1]
    codes = np.full((tiles * LANES, blocks * size), ZERO, np.uint8)
    codes[:out, :width] = held.values.view(np.uint8) ^ ZERO  # + 128
    each = np.zeros((tiles * LANES, 1 if groups == 1 else blocks), np.float32)
    each[:out] = held.scales if groups == 1 else np.repeat(held.scales, blocks // groups, axis=1)
    quads = codes.reshape(tiles, LANES, blocks, size // QUAD, QUAD).transpose(0, 2, 3, 1, 4)
    sizes = each.reshape(tiles, LANES, -1).transpose(0, 2, 1)
    return Blocks(np.ascontiguousarray(quads), np.ascontiguousarray(sizes))


def _whole_quads(number: int) -> int:
    return -(-number // QUAD) * QUAD
