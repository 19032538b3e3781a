"""Rows of the ggml types whose values are a scale times a code of 4, 5, 6 or 8 bits, in some plus a least value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import Packed

Bytes = NDArray[np.uint8]
LOW, BITS = 0x0F, 4
Q4_0_ZERO = 8
SHARING = 32  # values with one scale
BIG_PARTS, SCALE_BYTES = 8, 12  # of a block of Q4_K or Q5_K: parts of SHARING values, and what holds their scales
BIG = BIG_PARTS * SHARING  # values of a block of these and of Q6_K
Q6_K_ZERO, FINE_PARTS = 32, 16  # of a block of Q6_K: parts of BIG / FINE_PARTS values
ROWS_AT_ONCE = 4096  # of Q6_K, so that temporary copies stay small


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
    blocks = rows.reshape(len(rows), -1, 4 + SCALE_BYTES + BIG // 2)
    codes = blocks[:, :, 4 + SCALE_BYTES :].reshape(len(rows), -1, SHARING)
    return _with_least_values(_codes(codes), BITS, blocks)


def _q5_k(rows: Bytes) -> Packed:
    """As Q4_K; before the lower bits of codes stand the highest of all, a bit of each byte for a part."""
    blocks = rows.reshape(len(rows), -1, 4 + SCALE_BYTES + BIG // 8 + BIG // 2)
    held = blocks[:, :, 4 + SCALE_BYTES :]
    codes = _codes(held[:, :, BIG // 8 :].reshape(len(rows), -1, SHARING)).reshape(*blocks.shape[:2], BIG_PARTS, -1)
    for part in range(BIG_PARTS):
        codes[:, :, part] |= (held[:, :, : BIG // 8] >> part & 1) << BITS
    return _with_least_values(codes.reshape(len(rows), -1), BITS + 1, blocks)


def _with_least_values(codes: Bytes, bits: int, blocks: Bytes) -> Packed:
    """A block has two float16, which 6 bits each for the scale and the least value of a part are multiplied with."""
    from gguf.quants import Q4_K

    parts = Q4_K.get_scale_min(blocks[:, :, 4 : 4 + SCALE_BYTES].reshape(-1, SCALE_BYTES))
    scale_parts, least_parts = (part.reshape(len(blocks), -1) for part in parts)
    steps, least_steps = _halves(blocks, 0), -_halves(blocks, 1)
    nested = scale_parts, steps.astype(np.float16), least_parts, least_steps.astype(np.float16)
    return Packed(codes, _times(scale_parts, steps), 0, bits, _times(least_parts, least_steps), nested)


def _q6_k(rows: Bytes) -> Packed:
    """A block has a float16, which 8 bits each for the scale of a part are multiplied with; of its codes first all
    lower four bits and then all higher two."""
    codes = np.empty((len(rows), rows.shape[1] // (BIG * 3 // 4 + FINE_PARTS + 2) * BIG), np.uint8)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE].reshape(-1, BIG * 3 // 4 + FINE_PARTS + 2)
        codes[start : start + ROWS_AT_ONCE] = _sixes(some[:, : BIG * 3 // 4]).reshape(-1, codes.shape[1])
    ends = np.ascontiguousarray(rows.reshape(len(rows), -1, BIG * 3 // 4 + FINE_PARTS + 2)[:, :, BIG * 3 // 4 :])
    parts = np.ascontiguousarray(ends[:, :, :FINE_PARTS]).view(np.int8).reshape(len(rows), -1)
    steps = np.ascontiguousarray(ends[:, :, FINE_PARTS:]).view("<f2")[:, :, 0]
    scales = _times(parts, steps.astype(np.float32))
    return Packed(codes, scales, Q6_K_ZERO, 6, None, (parts, steps.astype(np.float16)))


def _sixes(blocks: Bytes) -> Bytes:
    """Codes [blocks, BIG] of what holds them: for each half of a block, 64 bytes have the lower bits of two each, 32
    others the higher bits of four."""
    low = blocks[:, : BIG // 2].reshape(-1, 2, 1, BIG // 4) >> np.array([0, BITS], np.uint8)[:, None] & LOW
    high = blocks[:, BIG // 2 :].reshape(-1, 2, 1, BIG // 8) >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    return (low.reshape(-1, BIG) | high.reshape(-1, BIG) << BITS).astype(np.uint8)


READERS: Mapping[str, Callable[[Bytes], Packed]] = {
    "Q8_0": _q8_0,
    "Q4_0": _q4_0,
    "Q4_1": _q4_1,
    "Q4_K": _q4_k,
    "Q5_K": _q5_k,
    "Q6_K": _q6_k,
}
"""By type: from raw rows [out, bytes]."""


def _halves(blocks: Bytes, number: int) -> NDArray[np.float32]:
    """One of the float16 that blocks [out, blocks, bytes] begin with, [out, blocks]."""
    own = np.ascontiguousarray(blocks[:, :, 2 * number : 2 * number + 2])
    return own.view("<f2")[:, :, 0].astype(np.float32)


def _times(parts: NDArray[Any], steps: NDArray[np.float32]) -> NDArray[np.float32]:
    """Small integers [out, groups] times what several of them share [out, blocks]: exact, as float16 has 11 bits."""
    grouped = parts.astype(np.float32).reshape(*steps.shape, -1) * steps[:, :, None]
    return np.asarray(grouped.reshape(parts.shape), np.float32)


def _codes(pairs: Bytes) -> Bytes:
    """[out, inputs] of bytes [out, some, any] that hold two codes: first all low halves of a group, then the others."""
    return _flat(np.concatenate([pairs & LOW, pairs >> BITS], axis=2))


def _flat(blocks: Bytes) -> Bytes:
    return np.ascontiguousarray(blocks).reshape(len(blocks), -1)
