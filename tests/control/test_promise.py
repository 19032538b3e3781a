"""What trees are worth before they are made: by level they are dear, and side by side they are cheap."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truedraw.control.experience import Record
from truedraw.control.pace import NODE, Pace, beyond
from truedraw.control.promise import Promise
from truedraw.draft.shape import worths

RATE = 20.0  # tokens a second


def timed(seconds: float, first: float = 0.0) -> Record:
    """A drafter of which a level takes so long, and the first of a tree so much longer."""
    record = Record()
    for levels, tokens in ((2, 5), (1, 1), (4, 6)) * 20:
        record.pace.add(first + seconds * (1 + beyond(levels, tokens)), tokens, levels)
    return record


chances = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4).map(lambda each: tuple(sorted(each, reverse=True)))


@settings(max_examples=200, deadline=None)
@given(nodes=st.integers(0, 20), chances=chances, level=st.floats(0.0, 0.05), first=st.floats(0.0, 0.05))
def test_whatever_rows_there_are_the_best_number_of_tokens_is_found(nodes, chances, level, first) -> None:
    """The net worths fall, and with a price on each row their best number is that of the true totals."""
    promise = Promise.of(timed(level, first), worths(nodes, chances, 6))
    net = promise.net(RATE)
    assert all(a >= b > 0 for a, b in pairwise([*net, 1e-300]))
    total = [0.0, *(gain - RATE * took for gain, took in zip(accumulate(promise.gains), promise.seconds, strict=True))]
    told = [0.0, *accumulate(net)]
    for price in (0.0, 0.02, 0.1, 0.3):
        best = max(value - price * n for n, value in enumerate(total))
        assert max(value - price * n for n, value in enumerate(told)) == pytest.approx(best, abs=1e-9)


def test_a_level_is_dear_and_what_stands_beside_is_cheap() -> None:
    promise = Promise.of(timed(0.01, 0.02), ((0.4, 1), (0.2, 2), (0.1, 1), (0.1, 2)))
    assert promise.depths == [1, 2, 2, 2]
    steps = np.diff([0.0, *promise.seconds])
    np.testing.assert_allclose(steps, [0.03, 0.01 + 0.01 * NODE, 0.01 * NODE, 0.01 * NODE], rtol=0.03)
    assert promise.gain(2) == pytest.approx(0.6)
    assert [promise.levels(tokens) for tokens in (0, 1, 2, 4, 9)] == [0, 1, 2, 2, 2]


def test_a_chain_is_told_by_position() -> None:
    record = timed(0.01)
    promise = Promise.of(record, None)
    assert promise.levels(3) == 0
    assert promise.gains == record.acceptance.gains().tolist()
    np.testing.assert_allclose(np.diff([0.0, *promise.seconds]), record.pace.rates.token)


def test_what_nobody_tells_is_worth_nothing() -> None:
    promise = Promise.of(timed(0.01), ())
    assert (promise.net(RATE), promise.gain(3), promise.levels(3)) == ([], 0, 0)


def test_drafts_that_cost_more_than_they_bring_are_worth_nothing() -> None:
    assert Promise.of(timed(1.0), worths(7, (0.5, 0.2), 6)).net(RATE) == []


@pytest.mark.parametrize("levels", [1, 3, 6])
def test_a_level_takes_the_same_whatever_its_tokens(levels: int) -> None:
    pace = Pace()
    for tokens in (2, 7, 12, 4) * 10:
        pace.add(0.002 * (1 + beyond(levels, tokens)), tokens, levels)
    assert pace.tree(levels, 9) == pytest.approx(0.002 * (1 + beyond(levels, 9)), rel=0.05)
