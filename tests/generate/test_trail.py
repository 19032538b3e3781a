"""A sample's way through the cache of logits: rows stand where they were drawn from, as long as others come there."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from truedraw.engine.logits_cache import LogitsCache
from truedraw.generate.trail import Trail

ROWS = [np.full(8, number, np.float32) for number in range(4)]
PROMPT = [1, 2]


def found(cache: LogitsCache, text: list[int]) -> float | None:
    """The number of the row that is known of a text."""
    scores = Trail(cache, text).scores()
    return None if scores is None else scores.logits[0, 0]


def test_each_row_stands_before_the_token_that_was_drawn_from_it() -> None:
    cache = LogitsCache(1 << 20)
    trail = Trail(cache, PROMPT)
    trail.follow([5, 6], ROWS[:2], [-0.5, -0.5])
    trail.follow([7], ROWS[2:3], [-0.5])
    assert [found(cache, [*PROMPT, *[5, 6, 7][:count]]) for count in range(4)] == [0, 1, 2, None]
    assert found(cache, [*PROMPT, 6]) is None


def test_where_a_row_was_known_the_way_goes_on_without_it() -> None:
    cache = LogitsCache(1 << 20)
    trail = Trail(cache, PROMPT)
    trail.follow([5], None, [-0.5])
    trail.follow([6], ROWS[1:2], [-0.5])
    assert [found(cache, [*PROMPT, *[5, 6][:count]]) for count in range(3)] == [None, 1, None]


def test_it_ends_where_few_others_come() -> None:
    """In the midst of a round, too; behind that nothing is left, whatever is drawn."""
    cache = LogitsCache(1 << 20)
    trail = Trail(cache, PROMPT)
    trail.follow([5, 6, 7], ROWS[:3], [log(1 / 16), log(1 / 17), -0.1])
    assert trail.cold
    trail.follow([7], ROWS[3:], [0.0])
    assert [found(cache, [*PROMPT, *[5, 6, 7][:count]]) for count in range(4)] == [0, 1, None, None]
    assert found(cache, [*PROMPT, 7]) is None


def test_a_row_is_worth_the_chance_that_a_sample_comes_there() -> None:
    cache, values = LogitsCache(1 << 20), []
    cache.store = lambda place, row, value: values.append(value)
    trail = Trail(cache, PROMPT)
    trail.follow([5, 6], ROWS[:2], [-0.5, -1.0])
    trail.follow([7], ROWS[2:3], [-0.5])
    assert values == pytest.approx([1.0, exp(-0.5), exp(-1.5)])
