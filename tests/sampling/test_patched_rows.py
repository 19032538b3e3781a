"""Rows whose edits stand apart: the largest logits of the spans, and which tokens stand there, by plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truedraw.compiled import compiled
from truedraw.sampling.edits import Edits, fixed_bits
from truedraw.sampling.kernels.cutting import Scratch
from truedraw.sampling.kernels.edit import edit_here
from truedraw.sampling.kernels.patched import patch
from truedraw.sampling.kernels.rowkinds import Patched, value_at
from truedraw.sampling.kernels.softmax import weights_into, write_weights
from truedraw.sampling.kernels.spans import maxima, num_spans
from truedraw.threads import NOBODY

SIZES = (1, 33, 64, 2047, 2048, 2113, 8192 + 65)
INF = float("inf")


@compiled()
def largest_of(row, tops):
    maxima(row, row.shape[0], -INF, tops)
    return tops.max()


@compiled()
def patched(row, edits, memory, raw_tops, tops, values):
    """(top, the sum of the weights); values [n]: of the row as a race reads it."""
    scratch, n = Scratch(*memory), row.shape[0]
    marks = np.empty(n, np.uint8)
    raw_top = np.float64(largest_of(row, raw_tops))
    top = patch(row, (raw_top, raw_tops), edits, tops, marks, scratch)
    here = Patched(row, scratch.row, marks, top, 0.8)
    for i in range(n):
        values[i] = value_at(here, i)
    return top, write_weights(here, ())


@compiled()
def total_here(values, top):
    return weights_into(values, top, 0.8, values)


@compiled()
def total_into(values, top, out):
    return weights_into(values, top, 0.8, out)


def tops_of(values: np.ndarray) -> np.ndarray:
    tops = np.empty(num_spans.py_func(len(values)), values.dtype)
    largest_of(values, tops)
    return tops


def run(row: np.ndarray, edits: Edits) -> tuple[float, float, np.ndarray, np.ndarray]:
    """Top, total, tops and values, from memory full of NaN and of ones."""
    n, spans = len(row), num_spans.py_func(len(row))
    memory = np.full(n, np.nan), np.empty(0), np.full(n, -1, np.int64), NOBODY
    tops, values = np.full(spans, np.nan), np.full(n, np.nan)
    top, total = patched(row, tuple(edits), memory, np.empty(spans, row.dtype), tops, values)
    return top, total, tops, values


def edits_of(rng: np.random.Generator, n: int) -> Edits:
    """Of every kind, some of one token, on a row's very ends too, with older and recent tokens of two texts."""
    ids = lambda count: rng.integers(0, n, count)  # noqa: E731
    unique = lambda count: np.unique(np.append(ids(count), (0, n - 1)))  # noqa: E731
    biased = unique(20)
    seen = [(unique(30), rng.integers(1, 4, n), ids(20)) for _ in range(2)]
    bias = rng.choice([-100.0, -1.0, 0.0, 0.5, 30.0, -INF], len(biased))
    edits = Edits(biased, bias, seen[0], float(rng.choice([0.5, 1.3])), seen[1], 0.3, -0.2, ids(6))
    size = max((n + 7) // 8 - rng.integers(2), 1)
    allowed = rng.integers(0, 256, size, np.uint8) | rng.choice(np.array([0, 255], np.uint8), size)
    return edits.allowing(fixed_bits(allowed)) if rng.random() < 0.3 else edits


def rows(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    one_high = np.full(n, -3.0)
    one_high[rng.integers(n)] = 9.0
    some_banned = np.where(rng.random(n) < 0.5, -INF, rng.normal(0, 3, n))
    some_banned[n // 2] = 1.0
    found = rng.normal(0, 3, n), np.zeros(n), np.round(rng.normal(0, 1, n)), one_high, some_banned
    return [row.astype(np.float32) for row in found]


@pytest.mark.parametrize("size", SIZES)
def test_every_value_and_every_spans_largest_is_that_of_the_row_written_out(size: int) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        for row in rows(rng, size):
            before, edits, expected = row.copy(), edits_of(rng, size), row.astype(np.float64)
            edit_here(expected, tuple(edits))
            top, total, tops, values = run(row, edits)
            assert values.tobytes() == expected.tobytes()
            assert row.tobytes() == before.tobytes()
            assert np.array_equal(tops, tops_of(expected))
            assert top == expected.max()
            if np.isfinite(top):
                assert total == total_here(expected, top)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [*SIZES, 49152])
def test_one_sum_whether_weights_are_written_or_not_to_the_last_bit(size: int, kind: Any) -> None:
    row = np.random.default_rng(size).normal(0, 3, size).astype(kind)
    top, expected = float(row.max()), row.astype(np.float64)
    total = run(row, Edits(np.array([0]), np.array([0.0])))[1]
    assert total == total_here(expected, top) == total_into(row, top, np.empty(size))


def test_an_edit_that_leaves_no_number_leaves_no_law() -> None:
    row = np.array([-INF, 1.0, 2.0], np.float32)
    assert np.isnan(run(row, Edits(np.array([0]), np.array([INF])))[0])
    assert np.isnan(run(row, Edits(np.array([0, 2]), np.array([INF, 1.0])))[0])  # nor where others follow it
    assert np.isnan(run(row, Edits(np.array([3]), np.array([1.0])))[0])
    few = np.empty(0, np.int64), np.ones(2, np.int64), np.array([2])  # a token beyond those that its text counts
    assert np.isnan(run(row, Edits(output=few))[0])
    assert np.isnan(run(np.array([1.0, np.nan], np.float32), Edits(np.array([1]), np.array([-INF])))[0])
    assert run(row, Edits(banned=np.array([1, 2])))[0] == -INF
