"""Philox4x32-10 against the vectors published with it (Random123, kat_vectors)."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.sampling.philox import block, fill

ONES = 0xFFFFFFFF
VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def words(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


@pytest.mark.parametrize(("counter", "key", "expected"), VECTORS)
def test_published_vectors(counter, key, expected) -> None:
    assert block(words(*counter), words(*key)) == expected


def test_a_run_of_counters_equals_its_blocks() -> None:
    out = np.empty((4, 70), dtype=np.uint64)
    fill(out, 1000, words(0, 7, 8, 9), words(5, 6))
    for column in range(out.shape[1]):
        assert tuple(out[:, column]) == block(words(1000 + column, 7, 8, 9), words(5, 6))
