"""How codes with nested scales lie in memory: those of types Q4_K, Q5_K and Q6_K, exactly as their files have them.

A scale is a small integer, of few inputs, times a float16 that a block of the file shares. Of each tile and each such
block come first the float16 of all lanes, then the integers of its blocks of SIZE inputs, one after the other.

Codes of 6 bits, of four quads of inputs that share a scale: the first three are the lower bits of three bytes, and the
higher two bits of these are the fourth. Codes of 5 bits, of four quads of inputs of either half of a block: their lower
bits are four bytes, as codes of 4 bits are, and a fifth has the highest bit of each.
"""

# ruff: noqa: ARG001 - numba matches the arguments of overloads by name

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from truedraw.compiled import forwarded
from truedraw.engine.constants.matrix import INT4_BITS, LOW_HALF, Matrix

OWN = 4  # blocks of SIZE inputs that share float16
INTEGERS = 4  # of a lane in a block: scales and least values of two halves, or scales of four groups
SHARES = 16  # input features that share a scale of codes of 6 bits
SIX_ZERO = 32
SIX_LOW = 2**6 - 1
THREE = 3  # bytes for four codes
FIFTH, FIVE = 4, 5  # quads of either half whose highest bits are a byte, and bytes for their codes
Bytes = NDArray[np.uint8]


class Form(NamedTuple):
    """What is there of one kind of such scales."""

    shares: int  # input features of a scale
    arrays: int  # of Matrix.nested
    bits: int


FOURS, FIVES, SIXES = Form(32, 4, 4), Form(32, 4, 5), Form(SHARES, 2, 6)


def form_of(matrix: Matrix, size: int) -> Form | None:
    """FOURS, FIVES or SIXES where a matrix has whole blocks of such scales."""
    if not matrix.nested or matrix.width % (OWN * size):
        return None
    form = FOURS if matrix.values.dtype == np.uint8 else SIXES if matrix.least is None else FIVES
    counts = [matrix.width // form.shares, matrix.width // (OWN * size)] * (form.arrays // 2)
    return form if [each.shape[1] for each in matrix.nested] == counts else None


def laid_scales(nested: tuple[NDArray[Any], ...], blocks: int, lanes: int) -> Bytes:
    """[tiles, blocks / OWN, bytes]; lanes behind the last row have none."""
    wholes = [filled(steps, lanes).reshape(-1, lanes, blocks // OWN, 1) for steps in nested[1::2]]
    parts = [filled(part, lanes).reshape(-1, lanes, blocks // OWN, OWN, _each(part, blocks)) for part in nested[::2]]
    steps = np.concatenate(wholes, axis=3).transpose(0, 2, 3, 1)
    small = np.concatenate(parts, axis=4).transpose(0, 2, 3, 4, 1)
    both = [np.ascontiguousarray(some).view(np.uint8).reshape(*some.shape[:2], -1) for some in (steps, small)]
    return np.concatenate(both, axis=2)


def _each(part: NDArray[Any], blocks: int) -> int:
    return int(part.shape[1]) // blocks


def filled(numbers: NDArray[Any], lanes: int) -> NDArray[Any]:
    """A copy with rows of zeros behind, to whole tiles of so many."""
    found = np.zeros((-(-len(numbers) // lanes) * lanes, *numbers.shape[1:]), numbers.dtype)
    found[: len(numbers)] = numbers
    return found


def laid_sixes(codes: NDArray[np.int8], blocks: int, lanes: int, wide: int, quad: int) -> Bytes:
    """[tiles, blocks, groups of SHARES inputs, lanes / wide, THREE, wide, quad] of codes [out, in] around 0."""
    out, width = codes.shape
    tiles, groups = -(-out // lanes), width // blocks // SHARES
    found = np.empty((tiles, blocks, groups, lanes // wide, THREE, wide, quad), np.uint8)
    for tile in range(tiles):
        own = np.full((lanes, width), SIX_ZERO, np.uint8)
        some = codes[tile * lanes : (tile + 1) * lanes]
        own[: len(some)] = some + np.int8(SIX_ZERO)
        found[tile] = _three_of_four(own.reshape(lanes // wide, wide, blocks, groups, SHARES // quad, quad))
    return found


def laid_fives(codes: NDArray[np.int8], blocks: int, lanes: int, wide: int, quad: int) -> Bytes:
    """[tiles, blocks, groups of FIFTH quads of a half, lanes / wide, FIVE, wide, quad] of codes [out, in] from 0 on."""
    out, width = codes.shape
    tiles, groups = -(-out // lanes), width // blocks // 2 // quad // FIFTH
    found = np.empty((tiles, blocks, groups, lanes // wide, FIVE, wide, quad), np.uint8)
    for tile in range(tiles):
        own = filled(codes[tile * lanes : (tile + 1) * lanes].view(np.uint8), lanes)
        found[tile] = _five_of_eight(own.reshape(lanes // wide, wide, blocks, 2, groups, FIFTH, quad))
    return found


def _five_of_eight(own: Bytes) -> Bytes:
    """[blocks, groups, lanes / wide, FIVE, wide, quad] of [lanes / wide, wide, blocks, 2, groups, FIFTH, quad]."""
    first, second = own.transpose(3, 2, 4, 0, 5, 1, 6)
    lower = first & LOW_HALF | (second & LOW_HALF) << INT4_BITS
    bits = np.concatenate([first >> INT4_BITS, second >> INT4_BITS], axis=3)
    highest = np.packbits(bits, axis=3, bitorder="little")
    return np.concatenate([lower, highest], axis=3)


def _three_of_four(own: Bytes) -> Bytes:
    """[blocks, groups, lanes / wide, THREE, wide, quad] of [lanes / wide, wide, blocks, groups, 4, quad]."""
    quads = own.transpose(2, 3, 0, 4, 1, 5)
    last = quads[:, :, :, THREE:] >> np.array([4, 2, 0], np.uint8)[:, None, None]
    return np.asarray(quads[:, :, :, :THREE] | last << 6, np.uint8)


def placed(scales: Any, lanes: Any, tile: Any, block: Any) -> Any:
    """Where the scales of a tile's block are in all of them, flat, and what nested ones are multiplied with; scales:
    of Blocks. For compiled code only."""
    raise NotImplementedError


@overload(placed, jit_options=forwarded(error_model="numpy"))
def _placed(scales, lanes, tile, block):  # type: ignore[no-untyped-def]
    def plain(scales, lanes, tile, block):  # type: ignore[no-untyped-def]
        rows = scales.shape[1]  # of scales: one a block, or one for all blocks
        place = (tile * rows + (block if rows > 1 else 0)) * scales[0, 0].size
        return place, place

    def nested(scales, lanes, tile, block):  # type: ignore[no-untyped-def]
        own, each = scales.shape[2], INTEGERS * lanes
        deep = (tile * scales.shape[1] + block // OWN) * own
        return deep + own - (OWN - block % OWN) * each, deep

    return nested if scales.dtype in {types.uint8, types.int8} else plain
