"""What one head finds in the rows before, and what is remembered of new ones: by plain numpy, number by number."""

from __future__ import annotations

import numpy as np
import pytest

from engine.bfloat16 import nearest
from truedraw.compiled import compiled
from truedraw.draft.head.kinds import attentive_chain
from truedraw.draft.head.kinds.attentive_memory import PLACES, Memories, Memory
from truedraw.draft.head.kinds.attentive_step import FOLLOWS, JOINED, REACH, SIZE, WIDTH, attend, remember
from truedraw.engine.constants.bfloat16 import widened
from truedraw.engine.native.softly import FREE

RNG = np.random.default_rng(6)
HEAD = 2
CLOSE = 1e-5


@compiled(fastmath=FREE, error_model="numpy")
def looked(query, keys, values, rows, place, nearness, head, found):
    attend(query, keys, values, rows, place, nearness, head, np.empty(REACH, np.float32), found)


@compiled(error_model="numpy")
def remembered(asked, one, head, keys, values):
    remember(asked, one, head, keys, values)


@compiled(error_model="numpy")
def heard(looking, places, held, count, last):
    attentive_chain.remember((looking, places, held), count, last)


@pytest.fixture(autouse=True)
def numbers_whatever_ran_before() -> None:
    RNG.bit_generator.state = np.random.default_rng(6).bit_generator.state


def off_the_middle(numbers: np.ndarray) -> np.ndarray:
    """None that lies halfway between two of 16 bits, each of which is the nearest one."""
    words = numbers.view(np.uint32)
    words += (words & 0xFFFF) == 0x8000
    return numbers


def shorts(*shape: int, size: float = 1.0) -> np.ndarray:
    return nearest((size * RNG.normal(size=shape)).astype(np.float32)).reshape(shape)


def by_definition(query, keys, values, rows, place, slope, sink) -> np.ndarray:
    """In float64, over the rows within reach."""
    seen = slice(max(0, place - REACH + 1), place)
    key, value = (widened(each[seen]).astype(np.float64) for each in (keys, values))
    weights = np.exp(key @ query / np.sqrt(SIZE) - slope * (rows[place] - rows[seen]))
    return weights @ value / (weights.sum() + np.exp(sink))


@pytest.mark.parametrize("place", [0, 1, 2, 40, REACH - 1, REACH, REACH + 1, PLACES - 1])
@pytest.mark.parametrize("slope", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("sink", [-50.0, 0.5, 5.0])
def test_a_head_finds_the_mean_of_the_values_within_its_reach(place, slope, sink) -> None:
    """Some rows are missing, and what is beyond, of which nothing may be seen, is no number."""
    keys, values, rows = shorts(PLACES, SIZE), shorts(PLACES, SIZE), np.arange(PLACES)
    rows[place // 2 :] += 7
    keys[place:], values[place:] = 0x7FC0, 0x7FC0
    first = max(0, place - REACH + 1)
    keys[:first], values[:first] = 0x7FC0, 0x7FC0
    query, nearness = RNG.normal(size=SIZE).astype(np.float32), np.full((2, HEAD + 1), np.nan, np.float32)
    nearness[:, HEAD], found = (slope, sink), np.full(SIZE, np.nan, np.float32)
    looked(query, keys, values, rows, place, nearness, HEAD, found)
    expected = by_definition(query, keys, values, rows, place, *nearness[:, HEAD].astype(np.float64))
    np.testing.assert_allclose(found, expected, atol=CLOSE)


@pytest.mark.parametrize("head", [0, JOINED - 1, JOINED, 7])
@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("follows", [0, 1])
def test_new_rows_are_remembered_to_the_nearest_number(head, count, follows) -> None:
    """Half of the heads have the value of a row at the one before it, if that is there."""
    asked, row, place = off_the_middle(RNG.normal(size=(6, 3 * WIDTH)).astype(np.float32)), 4, 11
    keys, values = np.full((20, SIZE), 9, np.uint16), np.full((20, SIZE), 9, np.uint16)
    one = np.array([place, 0, row, count, follows], np.int64)
    remembered(asked, one, head, keys, values)
    expected = np.full((2, 20, SIZE), 9, np.uint16)
    for back in range(count):
        own = nearest(asked[row - back]).reshape(3, -1, SIZE)
        expected[0, place - back] = own[1, head]
        if head < JOINED:
            expected[1, place - back] = own[2, head]
        elif back < count - 1 or follows:
            expected[1, place - back - 1] = own[2, head]
    np.testing.assert_array_equal(np.stack([keys, values]), expected)


@pytest.mark.parametrize("gap", [0, 1, 30])
@pytest.mark.parametrize("before", [0, 1, 5])
def test_compiled_code_remembers_where_python_does(gap, before) -> None:
    """Rows that come behind some that are missing, twice, and those right behind them."""
    python, other = Memory(Memories()), Memory(Memories())
    for each in (python, other):
        for first in range(before):
            each.place(first, 1)
    first = before + gap
    for count in (2, 3, 1):
        place, follows = python.place(first, count)
        held = np.array([other.room(first, count), first])
        looking = np.zeros(FOLLOWS + 1, np.int64)
        heard(looking, other.arrays[2][other.slot], held, count, 8)
        other.came(count)
        assert looking.tolist() == [place, 0, 8, count, follows]
        assert held.tolist() == [place + 1, first + count]
        here = (each.arrays[2][each.slot, : place + 1].tolist() for each in (python, other))
        assert next(here) == next(here)
        first += count - (count == 2)
