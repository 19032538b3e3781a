"""How a matrix of codes lies in memory where products read it once, from its beginning to its end.

LANES output rows, a tile, stand side by side, so that one instruction works for many of them, and of each row QUAD
input features, which is what the instruction multiplies and adds at once. A block is SIZE input features of these
rows, or fewer where fewer share a scale. Codes are held without a sign, as the instruction wants one of its two
factors; of 8 bits 128 stands for 0.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.rounding import GROUP
from truedraw.engine.native.nested import FIVE, THREE
from truedraw.sampling.kernels.bits import CACHE_LINE

LANES, WIDE, QUAD = 64, 16, 4  # WIDE: lanes of a vector
SIZE = GROUP
"""Input features of a block, of which activations share a scale, too. With 32 many rows take half as long again in
grids."""
ZERO = 128
FACTORS = 8
STEP, HALF, START, QUARTER = 0, 1, 3, 4
"""Of a block of a rounded row, beside its numbers, float32: what 1 of them stands for, that times their sum over each
half of the block, and the sum of all times -ZERO; then by its bits an int32, each quarter's sum times -SIX_ZERO."""
BESIDE = 32  # lanes of a tile whose codes of 4 bits stand together, quad by quad, before those of the others


class Blocks(NamedTuple):
    """A matrix [out, in], filled up with zeros.

    Codes of 8 bits: weights are scales (codes - ZERO). Codes of 4 bits, two a byte, that of the block's second half in
    the higher bits: weights are scales codes + least, and so are those of codes of 5 bits, eight in five bytes, see
    nested.py. Codes of 6 bits, four in three bytes: weights are scales (codes - SIX_ZERO).
    """

    codes: NDArray[Any]
    """Bytes [tiles of LANES outputs, blocks, quads of bytes, LANES, QUAD], as int8 where codes have 5 bits; of 4 bits
    [..., LANES / BESIDE, quads, BESIDE, QUAD] is the order of a block, of 5 and 6 bits [groups, LANES / WIDE, 5 or 3,
    WIDE, QUAD]."""
    scales: NDArray[Any]
    """[tiles, blocks, LANES], [tiles, 1, LANES] where a row has one: float32, or float16 as int16 where these are the
    same numbers; of 4 bits float16 as uint16 [tiles, blocks, 4, LANES], scales of both halves, then least values.
    Nested ones are bytes [tiles, blocks / OWN, some], as int8 where codes have 6 bits."""

    @property
    def is_fine(self) -> bool:
        """Whether codes have 8 bits."""
        return self.scales.dtype.type in {np.float32, np.int16}

    @property
    def size(self) -> int:
        """Input features of a block."""
        quads = int(self.codes.shape[-3])
        if self.scales.dtype == np.int8:
            return quads * QUAD * QUAD // THREE
        if self.codes.dtype == np.int8:
            return quads * QUAD * 2 * QUAD // FIVE
        return quads * QUAD * (1 if self.is_fine else 2)


def in_lines(values: NDArray[Any]) -> NDArray[Any]:
    """A copy whose vectors lie in one line of the cache each."""
    found = room_in_lines(values.shape, values.dtype)
    found[...] = values
    return found


def room_in_lines(shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """For such a copy."""
    count = prod(shape) * np.dtype(kind).itemsize
    whole = np.empty(count + CACHE_LINE, np.uint8)
    first = -whole.ctypes.data % CACHE_LINE
    found: NDArray[Any] = whole[first : first + count].view(kind).reshape(shape)
    return found
