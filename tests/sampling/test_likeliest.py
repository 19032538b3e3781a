"""The few likeliest tokens of a row, against a sort of the whole of it."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.sampling.law import likeliest


def by_sorting(row: np.ndarray, count: int) -> list[int]:
    """By value, then by id."""
    order = sorted(range(len(row)), key=lambda token: (-row[token], token))
    return [token for token in order if row[token] > -np.inf][:count]


def rows() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    wide = rng.normal(0, 4, 49152)
    cut = np.full(5003, -np.inf)
    cut[[17, 4000, 5002]] = 1.0, 1.0, 2.0
    return {
        "real size": wide,
        "ties": np.round(wide[:5003]),
        "all equal": np.full(300, -2.5),
        "rising": np.arange(4000.0),
        "falling": -np.arange(4000.0),
        "three possible": cut,
        "few": wide[:3],
        "one": wide[:1],
        "huge": np.array([-3e38, 3e38, 0.0, 3e38, -np.inf]),
    }


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", rows())
def test_they_are_those_of_a_sort(name: str, kind) -> None:
    row = rows()[name].astype(kind)
    before = row.copy()
    for count in (1, 2, 5, 20):
        assert likeliest(row, count).tolist() == by_sorting(row, count)
    assert (row == before).all()


def test_rows_that_lie_otherwise_in_memory() -> None:
    wide = np.random.default_rng(4).normal(0, 4, (900, 2)).astype(np.float32)
    locked = wide[:, 1].copy()
    locked.flags.writeable = False
    expected = by_sorting(wide[:, 1], 20)
    assert likeliest(wide[:, 1], 20).tolist() == likeliest(locked, 20).tolist() == expected


def test_what_is_no_number_is_none_of_them() -> None:
    assert likeliest(np.array([1.0, np.nan, 2.0], np.float32), 5).tolist() == [2, 0]
