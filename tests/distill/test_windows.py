"""The rows of a step."""

import numpy as np

from distill.conftest import SHAPE
from truedraw.distill.rows import Rows
from truedraw.distill.windows import LENGTH, POSITIONS, WINDOWS, num_windows, windows


def test_a_step_has_the_same_windows_whenever_it_is_run(fill):
    data = Rows(fill(20, 30), SHAPE)
    first, again, next_one = windows(data, 5, 7), windows(data, 5, 7), windows(data, 5, 8)
    np.testing.assert_array_equal(first.rows, again.rows)
    assert not np.array_equal(first.rows, next_one.rows)
    assert not np.array_equal(first.rows, windows(data, 6, 7).rows)
    assert first.rows.shape == (WINDOWS, LENGTH)


def test_drafts_count_while_they_stay_in_a_text_that_may_be_learnt_from(fill):
    data = Rows(fill(20, 10), SHAPE)
    where = windows(data, 0, 0)
    for position in range(1, POSITIONS + 1):
        counts = where.counts(position)
        for row, counted in zip(where.rows.ravel().tolist(), counts.ravel().tolist(), strict=True):
            inside = row % 10 + position < 10
            assert counted == (inside and row // 10 != 19)  # of twenty texts the last is held out
    assert [num_windows(position) for position in (1, 2, 3)] == [WINDOWS, WINDOWS, WINDOWS // 2]


def test_every_row_that_can_begin_does(fill):
    data = Rows(fill(3, 5), SHAPE)
    seen = {row for step in range(50) for row in windows(data, 0, step).rows.ravel().tolist()}
    assert seen == set(range(data.count - POSITIONS))
