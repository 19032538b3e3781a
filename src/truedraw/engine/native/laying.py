"""From a matrix of codes to its blocks, see blocks.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.matrix import INT4_BITS, Matrix, dense, unpacked
from truedraw.engine.constants.rounding import codes_of
from truedraw.engine.native.blocks import BESIDE, LANES, QUAD, SIZE, WIDE, ZERO, Blocks, in_lines
from truedraw.engine.native.machine import HAS_HALVES
from truedraw.engine.native.nested import FIVES, FOURS, Form, filled, form_of, laid_fives, laid_scales, laid_sixes

FINE = 2.0**-10  # of a row's largest: what scales and least values may lose as float16, which is twice what they do


def blocks_of(matrix: Matrix) -> Blocks:
    """A copy: codes of 4, 5 and 6 bits as they are where they fill blocks of SIZE, all else as `eights_of`, with scales
    of half the length where they lose nothing: a GGUF file has no others."""
    form = form_of(matrix, SIZE)
    if form is not None:
        return _laid_nested(matrix, form)
    found = halves_of(matrix)
    return shortened(eights_of(matrix)) if found is None else _laid4(matrix, found)


def eights_of(matrix: Matrix, size: int = SIZE) -> Blocks:
    """A copy in codes of 8 bits with scales of float32, in blocks of `size` or less: integer codes as they are where
    `_fits`, all else rounded as `codes_of` does."""
    held = _integers(matrix)
    assert held.scales is not None
    groups = held.scales.shape[1]
    return _laid(held, size if groups == 1 else min(size, held.width // groups))


def in_whole_tiles(pair: Matrix) -> Matrix:
    """Two matrices of as many rows, one above the other, each filled up with rows of zeros to whole tiles."""
    assert pair.scales is not None or not pair.zero  # a code of 0 is to stand for 0
    half = len(pair.values) // 2
    room = -(-half // LANES) * LANES
    if room == half:
        return pair

    def filled(numbers: NDArray[Any] | None) -> NDArray[Any] | None:
        if numbers is None:
            return None
        found = np.zeros((2, room, *numbers.shape[1:]), numbers.dtype)
        found[:, :half] = numbers.reshape(2, half, *numbers.shape[1:])
        return found.reshape(2 * room, *numbers.shape[1:])

    values, scales, least, *nested = (filled(each) for each in (pair.values, pair.scales, pair.least, *pair.nested))
    assert values is not None
    return Matrix(values, scales, pair.zero, least, tuple(each for each in nested if each is not None))


def halves_of(matrix: Matrix) -> NDArray[np.uint16] | None:
    """Scales and least values [2, out, groups] as float16, where codes have 4 bits and these serve half a block each;
    None where they do not, or are too small or too large for it."""
    if matrix.values.dtype != np.uint8 or matrix.scales is None or matrix.width % SIZE:
        return None
    if matrix.scales.shape[1] * SIZE != 2 * matrix.width:
        return None
    least = -matrix.zero * matrix.scales if matrix.least is None else matrix.least
    both = np.stack([matrix.scales, least]).astype(np.float32)
    with np.errstate(over="ignore"):
        found = both.astype(np.float16)
    lost = np.abs(found.astype(np.float32) - both)
    return found.view(np.uint16) if (lost <= FINE * np.abs(both).max(axis=2, keepdims=True)).all() else None


def shortened(blocks: Blocks) -> Blocks:
    """With scales of half the length where they lose nothing."""
    with np.errstate(over="ignore"):
        short = blocks.scales.astype(np.float16)
    if not HAS_HALVES or (short != blocks.scales).any():
        return blocks
    return Blocks(blocks.codes, in_lines(short.view(np.int16)))


def _laid4(matrix: Matrix, halves: NDArray[np.uint16]) -> Blocks:
    out, blocks = len(matrix.values), matrix.width // SIZE
    tiles = -(-out // LANES)
    fine = np.zeros((2, tiles * LANES, blocks, 2), np.uint16)
    fine[:, :out] = halves.reshape(2, out, blocks, 2)
    scales = in_lines(fine.reshape(2, tiles, LANES, blocks, 2).transpose(1, 3, 0, 4, 2))
    return Blocks(_laid_codes4(matrix), scales.reshape(tiles, blocks, 4, LANES))


def _laid_codes4(matrix: Matrix) -> NDArray[np.uint8]:
    tiles, blocks = -(-len(matrix.values) // LANES), matrix.width // SIZE
    codes = filled(unpacked(matrix.values), LANES)
    both = codes.reshape(tiles, LANES // BESIDE, BESIDE, blocks, 2, SIZE // 2 // QUAD, QUAD)
    order = (both[..., 0, :, :] | both[..., 1, :, :] << INT4_BITS).transpose(0, 3, 1, 4, 2, 5)
    return in_lines(order).reshape(tiles, blocks, -1, LANES, QUAD)


def _laid_nested(matrix: Matrix, form: Form) -> Blocks:
    blocks = matrix.width // SIZE
    scales = in_lines(laid_scales(matrix.nested, blocks, LANES))
    if form == FOURS:
        return Blocks(_laid_codes4(matrix), scales)
    if form == FIVES:
        codes = in_lines(laid_fives(matrix.values, blocks, LANES, WIDE, QUAD))
        return Blocks(codes.reshape(len(codes), blocks, -1, LANES, QUAD).view(np.int8), scales)
    codes = in_lines(laid_sixes(matrix.values, blocks, LANES, WIDE, QUAD))
    return Blocks(codes.reshape(len(codes), blocks, -1, LANES, QUAD), scales.view(np.int8))


def _integers(matrix: Matrix) -> Matrix:
    """int8 codes around 0 whose groups are whole rows, whole blocks, or blocks."""
    if (
        matrix.scales is None
        or matrix.least is not None
        or matrix.nested
        or not _fits(matrix.width, matrix.scales.shape[1])
    ):
        return codes_of(dense(matrix), short=True)
    if matrix.values.dtype == np.int8 and not matrix.zero:
        return matrix
    return Matrix(np.rint(dense(Matrix(matrix.values, None, matrix.zero))).astype(np.int8), matrix.scales)


def _fits(width: int, groups: int) -> bool:
    """Whether blocks of one group, or of a part of one, share SIZE evenly: a tile of gates becomes whole blocks."""
    group = width // groups
    return groups == 1 or not group % SIZE or not (SIZE % group or group % QUAD)


def _laid(held: Matrix, size: int) -> Blocks:
    assert held.scales is not None
    out, width = held.values.shape
    tiles, blocks, groups = -(-out // LANES), -(-width // size), held.scales.shape[1]
    codes = np.full((tiles * LANES, blocks * size), ZERO, np.uint8)
    codes[:out, :width] = held.values.view(np.uint8) ^ ZERO  # + 128
    each = filled(held.scales if groups == 1 else np.repeat(held.scales, blocks // groups, axis=1), LANES)
    quads = codes.reshape(tiles, LANES, blocks, size // QUAD, QUAD).transpose(0, 2, 3, 1, 4)
    sizes = each.reshape(tiles, LANES, -1).transpose(0, 2, 1)
    return Blocks(in_lines(quads), in_lines(sizes))
