"""The cache of logits: the bits that were stored, never more bytes than allowed, the least worthy out first."""

from __future__ import annotations

import gc
import tracemalloc
from functools import partial
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.instructions import interrupted
from truedraw.engine.logits_cache import NODE_BYTES, ROW_BYTES, LogitsCache
from truedraw.engine.logits_places import BLOCK_TOKENS
from truedraw.errors import BadParameter

VOCAB = 40
ROW = ROW_BYTES + 4 * VOCAB  # bytes of a row that is kept as it is


def row(number, vocab=VOCAB):
    """A row of its own; no smaller form holds it."""
    return np.random.default_rng(number).normal(size=vocab).astype(np.float32)


def filled(texts_and_values, rows):
    """A cache for so many rows of short texts, with these stored in this order."""
    cache = LogitsCache(rows * ROW)
    for text, value in texts_and_values:
        cache.store(cache.enter(text), row(sum(text)), value)
    return cache


def kept(cache, texts):
    return [text for text in texts if cache.logits(cache.enter(text)) is not None]


def test_the_bits_come_back_at_the_size_of_a_real_vocabulary():
    cache = LogitsCache(10 << 20)
    whole = row(0, 49152)
    coarse = (row(1, 49152).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    for token, logits in enumerate((whole, coarse)):
        cache.store(cache.enter([5, token]), logits, 0.5)
    for token, logits in enumerate((whole, coarse)):
        found = cache.logits(cache.step(cache.enter([5]), token))
        assert found.dtype == np.float32
        assert found.tobytes() == logits.tobytes()
    assert cache.use.bytes == 49152 * (4 + 2) + 2 * ROW_BYTES


def test_hits_and_misses_are_counted():
    cache = filled([((1, 2), 1.0)], rows=3)
    assert kept(cache, [(1,), (1, 2), (1, 2), (1, 2, 3), ()]) == [(1, 2), (1, 2)]
    assert (cache.use.hits, cache.use.misses, cache.use.rows) == (2, 3, 1)


def test_looking_creates_nothing():
    cache = filled([((1,), 1.0)], rows=3)
    before = cache.use.bytes
    place = cache.enter(range(10_000))
    for token in range(200):
        place = cache.step(place, token)
        assert cache.logits(place) is None
    assert cache.use.bytes == before


def test_what_the_caller_does_to_its_arrays_changes_nothing():
    cache, logits = LogitsCache(10 * ROW), row(0)
    place = cache.enter([1])
    cache.store(place, logits, 1.0)
    logits[:] = 0
    cache.logits(place)[:] = 1
    assert cache.logits(place).tobytes() == row(0).tobytes()


def test_a_row_that_is_stored_again_stays_and_counts_as_passed():
    cache = filled([((1,), 0.3), ((2,), 0.4)], rows=2)
    cache.store(cache.enter([1]), row(99), 0.3)
    assert cache.use.rows == 2
    cache.store(cache.enter([3]), row(3), 0.5)
    assert kept(cache, [(1,), (2,), (3,)]) == [(1,), (3,)]
    assert cache.logits(cache.enter([1])).tobytes() == row(1).tobytes()


def test_the_value_that_was_given_last_is_that_of_every_further_sample():
    cache = filled([((1,), 0.1), ((2,), 0.5)], rows=2)
    cache.store(cache.enter([1]), row(1), 0.3)
    cache.logits(cache.enter([1]))
    cache.store(cache.enter([3]), row(3), 0.6)
    assert kept(cache, [(1,), (2,), (3,)]) == [(1,), (3,)]


def test_the_least_value_leaves_first():
    values = {(1,): 0.9, (2,): 0.1, (3,): 0.5, (4,): 0.3}
    cache = filled(values.items(), rows=4)
    for number, leaving in enumerate([(2,), (4,), (3,)]):
        cache.store(cache.enter([10 + number]), row(number), 1.0)
        assert kept(cache, [leaving]) == []
        assert cache.use.rows == 4
    assert kept(cache, values) == [(1,)]
    assert cache.use.evicted == 3


def test_of_rows_that_are_worth_the_same_the_oldest_leaves():
    cache = filled([((1,), 0.5), ((2,), 0.5), ((3,), 0.5)], rows=2)
    assert kept(cache, [(1,), (2,), (3,)]) == [(2,), (3,)]
    assert (cache.use.evicted, cache.use.refused) == (1, 0)


def test_what_is_worth_less_than_everything_is_refused():
    cache = filled([((1,), 0.5), ((2,), 0.4)], rows=2)
    cache.store(cache.enter([3]), row(3), 0.01)
    assert kept(cache, [(1,), (2,), (3,)]) == [(1,), (2,)]
    assert (cache.use.refused, cache.use.evicted) == (1, 0)


@pytest.mark.parametrize("value", [0.0, 1e-320, float("nan"), -1.0])
def test_a_reach_too_small_for_a_float_is_the_least(value):
    cache = filled([((1,), 0.5), ((2,), value)], rows=2)
    assert kept(cache, [(1,), (2,)]) == [(1,), (2,)]
    cache.store(cache.enter([3]), row(3), 1e-200)
    assert kept(cache, [(1,), (2,), (3,)]) == [(1,), (3,)]


def test_rows_that_are_passed_often_are_worth_more():
    cache = filled([((1,), 0.1), ((2,), 0.5)], rows=2)
    for _ in range(10):
        cache.logits(cache.enter([1]))
    cache.store(cache.enter([3]), row(3), 0.8)
    assert kept(cache, [(1,), (2,), (3,)]) == [(1,), (3,)]


def test_old_contexts_leave_and_those_in_use_stay():
    """Neither is reached less likely than before; only one of them is still asked for."""
    rows, turnovers = 20, 80
    cache = filled([((1,), 1.0), ((2,), 1.0)], rows)
    for number in range(rows * turnovers):
        cache.store(cache.enter([100 + number]), row(number), 0.01)
        if number % rows == 0:
            assert kept(cache, [(2,)]) == [(2,)]
    assert kept(cache, [(1,), (2,)]) == [(2,)]


def test_being_refused_often_enough_is_a_turnover_too():
    cache = filled([((1,), 0.5), ((2,), 0.5)], rows=2)
    for number in range(200):
        cache.store(cache.enter([100 + number]), row(number), 0.01)
        if cache.use.evicted:
            break
    assert 20 < cache.use.refused < 150


def test_room_for_half_a_row_is_no_room_for_a_whole_one():
    """That a row has no smaller form is known only when it has been looked at."""
    coarse = (row(1).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    for number, logits, expected in ((2, row(2), [(1,)]), (3, coarse, [(1,), (3,)])):
        cache = LogitsCache(2 * ROW - VOCAB)
        cache.store(cache.enter([1]), row(1), 0.5)
        cache.store(cache.enter([number]), logits, 0.1)
        assert kept(cache, [(1,), (2,), (3,)]) == expected


def test_nothing_ages_while_there_is_room():
    cache = filled([((1,), 0.5), *(((10 + number,), 0.4) for number in range(300))], rows=301)
    cache.store(cache.enter([2]), row(2), 0.45)
    assert kept(cache, [(1,), (2,)]) == [(1,), (2,)]


def test_a_prefix_can_lose_its_row_while_longer_texts_keep_theirs():
    long = tuple(range(3 * BLOCK_TOKENS))
    middle = long[: 2 * BLOCK_TOKENS]
    cache = LogitsCache(2 * ROW + 3 * NODE_BYTES)
    cache.store(cache.enter(middle), row(0), 0.2)
    cache.store(cache.enter(long), row(1), 0.9)
    assert cache.use.bytes == 2 * ROW + 3 * NODE_BYTES
    cache.store(cache.enter([7]), row(2), 0.5)
    assert kept(cache, [middle, long, (7,)]) == [long, (7,)]
    assert cache.use.bytes == 2 * ROW + 3 * NODE_BYTES
    assert cache.logits(cache.enter(long)).tobytes() == row(1).tobytes()


def test_a_longer_text_can_go_while_its_prefix_stays():
    long = tuple(range(3 * BLOCK_TOKENS))
    cache = LogitsCache(2 * ROW + 3 * NODE_BYTES)
    cache.store(cache.enter(long[:BLOCK_TOKENS]), row(0), 0.9)
    cache.store(cache.enter(long), row(1), 0.2)
    cache.store(cache.enter([7]), row(2), 0.5)
    assert kept(cache, [long[:BLOCK_TOKENS], long]) == [long[:BLOCK_TOKENS]]
    assert cache.use.bytes == 2 * ROW + NODE_BYTES


def test_places_outlive_their_rows():
    text = tuple(range(BLOCK_TOKENS + 5))
    cache = LogitsCache(ROW + NODE_BYTES)
    place = cache.enter(text)
    cache.store(place, row(0), 0.1)
    cache.store(cache.enter([7]), row(1), 0.9)
    assert cache.logits(place) is None
    further = cache.step(place, 3)
    for _ in range(40):
        cache.store(further, row(2), 1.0)
    assert cache.logits(cache.enter([*text, 3])).tobytes() == row(2).tobytes()
    assert cache.logits(place) is None


def test_two_who_walk_the_same_way_meet_behind_the_last_row():
    """Neither text was known when they set out."""
    cache = LogitsCache(10 * (ROW + 3 * NODE_BYTES))
    one, other = cache.enter([1]), cache.enter([1])
    for token in range(2 * BLOCK_TOKENS):
        one, other = cache.step(one, token), cache.step(other, token)
    cache.store(one, row(0), 0.5)
    assert cache.logits(other).tobytes() == row(0).tobytes()


@pytest.mark.parametrize("max_bytes", [0, 1, ROW - 1])
def test_too_small_for_a_row_is_off(max_bytes):
    cache = LogitsCache(max_bytes)
    place = cache.step(cache.enter([1, 2]), 3)
    cache.store(place, row(0), 1.0)
    assert cache.logits(place) is None
    assert (cache.use.rows, cache.use.bytes, cache.use.refused) == (0, 0, 1)


def test_a_text_too_long_for_the_cache_drives_nobody_out():
    cache = LogitsCache(3 * ROW)
    for token in range(3):
        cache.store(cache.enter([token]), row(token), 0.1)
    cache.store(cache.enter(range(4 * BLOCK_TOKENS)), row(9), 1.0)
    assert kept(cache, [(0,), (1,), (2,)]) == [(0,), (1,), (2,)]


def test_a_negative_size_is_refused():
    with pytest.raises(BadParameter, match="max_bytes: got -1; give"):
        LogitsCache(-1)


blocks = st.lists(st.integers(0, 1), max_size=3)
ends = st.lists(st.integers(0, 1), max_size=2)
texts = st.tuples(blocks, ends).map(lambda each: (*(t for t in each[0] for _ in range(BLOCK_TOKENS)), *each[1]))
stores = st.tuples(texts, st.sampled_from([1.0, 0.3, 0.01, 0.0]), st.sampled_from([4, 40, 300]))


@given(st.integers(0, 12 * ROW), st.lists(stores, max_size=40), st.lists(texts, max_size=10))
@settings(max_examples=200)
def test_any_stores_at_all(max_bytes, operations, asked):
    """Bytes are what rows and nodes make them, and never too many; a hit is what was first stored, or stored again."""
    cache = LogitsCache(max_bytes)
    stored = {}
    for text, value, vocab in operations:
        place, before = cache.enter(text), cache.use
        known = cache.logits(place) is not None
        logits = stored[text] if known else row(len(stored), vocab)
        cache.store(place, row(777, vocab) if known else logits, value)
        stored[text] = logits
        use = cache.use
        assert use.bytes <= max_bytes
        assert use.rows == before.rows + (not known) - (use.refused - before.refused) - (use.evicted - before.evicted)
    found = {text: cache.logits(cache.enter(text)) for text in {*stored, *asked}}
    there = {text: logits for text, logits in found.items() if logits is not None}
    assert len(there) == cache.use.rows
    assert all(logits.tobytes() == stored[text].tobytes() for text, logits in there.items())
    assert cache.use.bytes == counted(there)


def counted(there):
    """Bytes of these rows and of the nodes that lead to them."""
    nodes = {text[:end] for text in there for end in range(BLOCK_TOKENS, len(text) + 1, BLOCK_TOKENS)}
    return sum(ROW_BYTES + logits.nbytes for logits in there.values()) + NODE_BYTES * len(nodes)


def test_the_bytes_counted_are_not_fewer_than_the_bytes_taken():
    """Long tails, deep nodes and many passes; Python's own bookkeeping is the larger part of such small rows."""
    rng = np.random.default_rng(0)
    gc.collect()
    tracemalloc.start()
    try:
        start, _ = tracemalloc.get_traced_memory()
        cache = LogitsCache(1 << 20)
        for number in range(3000):
            text = rng.integers(0, 50_000, 63 + 64 * (number % 3)).tolist()
            place = cache.enter(text)
            cache.store(place, row(number, 4), float(rng.random()))
            cache.logits(place)
        del place, text
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0] - start
    finally:
        tracemalloc.stop()
    assert cache.use.evicted > 400
    assert 0.4 * cache.use.bytes < taken <= cache.use.bytes


def chain_of(node):
    """A node and those above it, without the root."""
    while node.parent is not None:
        yield node
        node = node.parent


def test_whatever_is_interrupted_rows_come_back_and_bytes_are_counted() -> None:
    rows = np.random.default_rng(0).normal(0, 1, (12, 40)).astype(np.float32)
    room = 20_000

    def fill(cache: LogitsCache) -> None:
        for number, row in enumerate(rows):
            cache.store(cache.enter([number % 3] * 30 * number), row, 0.5)

    for at in count():
        cache = LogitsCache(room)
        was = interrupted(partial(fill, cache), at, "logits_cache.py")
        fill(cache)
        assert {place for _, _, place in cache._heap} == cache._rows.keys()
        assert len(cache._heap) == len(cache._rows)
        assert 0 < cache.use.bytes <= room
        nodes = {node for place in cache._rows for node in chain_of(place.node)}
        rows_bytes = sum(each.packed.entries.nbytes + ROW_BYTES for each in cache._rows.values())
        assert cache.use.bytes == rows_bytes + NODE_BYTES * len(nodes)
        for number, row in enumerate(rows):
            found = cache.logits(cache.enter([number % 3] * 30 * number))
            assert found is None or found.tobytes() == row.tobytes()
        if not was:
            break
    assert at > 500
