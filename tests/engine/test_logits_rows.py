"""Every bit of a row comes back, from as few bytes as hold it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from truedraw.engine.logits_rows import Form, pack, unpack

VOCAB = 49152


def bits(row):
    return row.tobytes(), row.dtype, row.shape


def as_bfloat16(row):
    return (row.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


@pytest.fixture
def row():
    return np.random.default_rng(0).normal(0, 3.4, VOCAB).astype(np.float32)


def test_forms_and_their_bytes(row):
    coarse, half = as_bfloat16(row), row.astype(np.float16).astype(np.float32)
    found = {name: pack(each) for name, each in {"full": row, "bfloat16": coarse, "float16": half}.items()}
    assert {name: each.form for name, each in found.items()} == {
        "full": Form.AS_GIVEN,
        "bfloat16": Form.BFLOAT16,
        "float16": Form.FLOAT16,
    }
    assert {name: each.entries.nbytes // VOCAB for name, each in found.items()} == {
        "full": 4,
        "bfloat16": 2,
        "float16": 2,
    }
    for each, packed in zip((row, coarse, half), found.values(), strict=True):
        assert bits(unpack(packed)) == bits(each)


@pytest.mark.parametrize("at", [0, VOCAB - 1])
def test_one_entry_that_does_not_fit_keeps_the_row_whole(row, at):
    coarse, half = as_bfloat16(row), row.astype(np.float16).astype(np.float32)
    for each in (coarse, half):
        each[at] = np.float32(0.1)
        assert pack(each).form is Form.AS_GIVEN
        assert bits(unpack(pack(each))) == bits(each)


@pytest.mark.parametrize("value", [70000.0, 1.5e-8, 2.0**-25, -1e30])
def test_numbers_beyond_float16_are_seen_without_a_warning(value):
    """All of them end in zeros like a float16, and none of them is one."""
    row = np.array([1.0009765625, np.float32(value)], np.float32)
    row = (row.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    assert pack(row).form is Form.AS_GIVEN
    assert bits(unpack(pack(row))) == bits(row)


def test_the_smallest_float16_stays_one():
    row = np.array([2.0**-24, -(2.0**-14), 1.0009765625], np.float32)
    assert pack(row).form is Form.FLOAT16
    assert bits(unpack(pack(row))) == bits(row)


def test_signed_zeros_infinities_and_nans():
    words = np.array([0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC10000], np.uint32)
    for row in (words.view(np.float32), (words | np.uint32(0x2000)).view(np.float32), (words | 1).view(np.float32)):
        assert bits(unpack(pack(row))) == bits(row)


@given(arrays.arrays(np.uint32, st.integers(1, 40)), st.integers(0, 32))
def test_any_bits_at_all(words, dropped):
    row = (words & np.uint32((0xFFFFFFFF << dropped) & 0xFFFFFFFF)).view(np.float32)
    packed = pack(row)
    assert bits(unpack(packed)) == bits(row)
    assert packed.form is Form.BFLOAT16 or dropped < 16


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_other_types_stay_what_they_are(dtype):
    row = np.random.default_rng(1).normal(size=100).astype(dtype)
    assert bits(unpack(pack(row))) == bits(row)


def test_rows_are_copied_in_and_out(row):
    for given_row in (row, as_bfloat16(row), row.astype(np.float64)):
        before = given_row.copy()
        packed = pack(given_row)
        given_row[:] = 7
        unpack(packed)[:] = 8
        assert bits(unpack(packed)) == bits(before)


def test_rows_that_are_not_contiguous():
    table = np.arange(24, dtype=np.float32).reshape(4, 6) + np.float32(0.1)
    assert bits(unpack(pack(table[:, 2]))) == bits(table[:, 2].copy())
