"""Rows of the ggml types whose values are a scale times a code of 4 or 8 bits, in some plus a least value."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import Packed

Bytes = NDArray[np.uint8]
LOW, BITS = 0x0F, 4
Q4_0_ZERO = 8
SHARING = 32  # values with one scale
BIG_PARTS, SCALE_BYTES = 8, 12  # of a block of Q4_K: parts of SHARING values, and what holds their scales


def _q8_0(rows: Bytes) -> Packed:
    blocks = rows.reshape(len(rows), -1, 2 + SHARING)
    return Packed(_flat(blocks[:, :, 2:]).view(np.int8), _halves(blocks, 0), 0, 8)


def _q4_0(rows: Bytes) -> Packed:
    blocks = rows.reshape(len(rows), -1, 2 + SHARING // 2)
    return Packed(_codes(blocks[:, :, 2:]), _halves(blocks, 0), Q4_0_ZERO, 4)


def _q4_1(rows: Bytes) -> Packed:
    blocks = rows.reshape(len(rows), -1, 4 + SHARING // 2)
    return Packed(_codes(blocks[:, :, 4:]), _halves(blocks, 0), 0, 4, _halves(blocks, 1))


def _q4_k(rows: Bytes) -> Packed:
    """A block has two float16, which 6 bits each for the scale and the least value of a part are multiplied with."""
    from gguf.quants import Q4_K

    blocks = rows.reshape(len(rows), -1, 4 + SCALE_BYTES + BIG_PARTS * SHARING // 2)
    parts = Q4_K.get_scale_min(blocks[:, :, 4 : 4 + SCALE_BYTES].reshape(-1, SCALE_BYTES))
    scales, least = (
        (_halves(blocks, number)[:, :, None] * part.reshape(*blocks.shape[:2], BIG_PARTS)).reshape(len(rows), -1)
        for number, part in enumerate(parts)
    )
    codes = blocks[:, :, 4 + SCALE_BYTES :].reshape(len(rows), -1, SHARING)
    return Packed(_codes(codes), scales.astype(np.float32), 0, 4, -least.astype(np.float32))


READERS: Mapping[str, Callable[[Bytes], Packed]] = {"Q8_0": _q8_0, "Q4_0": _q4_0, "Q4_1": _q4_1, "Q4_K": _q4_k}
"""By type: from raw rows [out, bytes]."""


def _halves(blocks: Bytes, number: int) -> NDArray[np.float32]:
    """One of the float16 that blocks [out, blocks, bytes] begin with, [out, blocks]."""
    own = np.ascontiguousarray(blocks[:, :, 2 * number : 2 * number + 2])
    return own.view("<f2")[:, :, 0].astype(np.float32)


def _codes(pairs: Bytes) -> Bytes:
    """[out, inputs] of bytes [out, some, any] that hold two codes: first all low halves of a group, then the others."""
    return _flat(np.concatenate([pairs & LOW, pairs >> BITS], axis=2))


def _flat(blocks: Bytes) -> Bytes:
    return np.ascontiguousarray(blocks).reshape(len(blocks), -1)
