"""The table of token recycling against its definition in numpy, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from from_python import from_python
from truedraw.draft.recycle_rows import likeliest, rough_total
from truedraw.draft.recycle_table import RecycleTable
from truedraw.draft.suffix_nodes import NONE

_rough_total = from_python(rough_total)
WIDE = 1e-2  # of a chance, relative: the sum is a rough one


def row(seed: int, vocab: int, scale: float = 3.0, dtype=np.float32) -> np.ndarray:
    return (scale * np.random.default_rng(seed).normal(size=vocab)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("vocab", [1, 7, 64, 2047, 2048, 2049, 49152])
def test_the_likeliest_of_a_row(vocab: int, dtype) -> None:
    ids, values = np.empty(8, np.int32), np.empty(8)
    for seed in range(20):
        logits = row(seed, vocab, dtype=dtype)
        assert likeliest(logits, ids, values) == logits.max()
        best = np.argsort(-logits, kind="stable")[:8]
        assert ids.tolist() == [*best.tolist(), *[NONE] * (8 - len(best))]
        assert np.array_equal(values[: len(best)], logits[best])


@pytest.mark.parametrize("vocab", [1, 7, 63, 65, 2047])
def test_what_lies_behind_a_row_is_none_of_it(vocab: int) -> None:
    memory, ids = np.full(vocab + 100, 1e30, np.float32), np.empty(3, np.int32)
    memory[:vocab] = row(4, vocab)
    likeliest(memory[:vocab], ids, np.empty(3))
    assert ids.max() < vocab


def test_what_has_no_probability_is_not_among_them() -> None:
    logits = np.full(100, -np.inf, np.float32)
    logits[[3, 70]] = 1.0, 2.0
    ids, values = np.empty(4, np.int32), np.empty(4)
    likeliest(logits, ids, values)
    assert ids.tolist() == [70, 3, NONE, NONE]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_without_a_law_is_told_from_the_others(value: float) -> None:
    logits = row(1, 300)
    logits[:] = value if value < 0 else logits
    logits[37] = value
    assert not np.isfinite(likeliest(logits, np.empty(2, np.int32), np.empty(2)))


@pytest.mark.parametrize("scale", [0.01, 1.0, 4.0, 20.0])
def test_the_rough_sum_is_near_the_sum(scale: float) -> None:
    for seed in range(10):
        logits = row(seed, 49152, scale)
        exact = np.exp(logits.astype(np.float64) - logits.max()).sum()
        assert _rough_total(logits, np.float64(logits.max())) == pytest.approx(exact, rel=5e-3)


def test_chances_are_those_of_the_row() -> None:
    table, logits = RecycleTable(5, 100), np.stack([row(seed, 5000) for seed in range(3)])
    table.learn({70: 2, 4999: 0}, logits)
    for token, at in ((70, 2), (4999, 0)):
        p = np.exp(logits[at] - logits[at].max())
        p /= p.sum()
        tokens, parents, chances = table.draft(token, 5, 0.0, True)
        first = tokens[parents == -1]
        assert first.tolist() == np.argsort(-p)[: len(first)].tolist()
        assert np.allclose(chances[parents == -1], p[first], rtol=WIDE)


@given(st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=6), max_size=60), st.integers(1, 300))
def test_as_many_tokens_as_allowed_are_kept_the_latest_handed_a_row(rounds, most) -> None:
    table, order = RecycleTable(2, most), []
    for tokens in rounds:
        logits = np.zeros((len(tokens), 500), np.float32)
        logits[range(len(tokens)), [t + 1 for t in tokens]] = 9.0
        table.learn({t: i for i, t in enumerate(tokens)}, logits)
        for token in dict.fromkeys(tokens):
            if token not in order:
                order = [*order, token][-most:]
        known = [t for t in range(400) if table.knows(t)]
        assert known == sorted(t for t in order if t < 400)
        assert table.num_tokens == len(order)
    for token in order:
        assert table.draft(token, 1, 0.1, True)[0].tolist() == [token + 1]


def test_a_text_is_read_once_and_only_for_what_no_row_is_known_of() -> None:
    table = RecycleTable(2, 100)
    logits = np.zeros((1, 50), np.float32)
    logits[0, 40] = 9.0
    table.learn({1: 0}, logits)
    table.read([1, 2, 3, 2, 3, 2, 4, 2, 5, 2])
    assert table.draft(1, 1, 0.0, True)[0].tolist() == [40]
    tokens, parents, chances = table.draft(2, 2, 0.0, True)
    assert (tokens.tolist(), parents.tolist()) == ([3, 2], [-1, 0])
    assert np.allclose(chances, [2 / 7, 2 / 7 * 2 / 3])
    table.read([2, 9])
    assert table.draft(2, 1, 0.0, True)[0].tolist() == [3]


def test_a_short_table_reads_the_end_of_a_text() -> None:
    table = RecycleTable(2, 3)
    table.read(range(50))
    assert [t for t in range(50) if table.knows(t)] == [46, 47, 48]


def test_a_copy_goes_its_own_way() -> None:
    table = RecycleTable(2, 3)
    table.read([1, 2, 3])
    twin = table.copy()
    twin.read([7, 8, 9, 10])
    assert [table.knows(t) for t in (1, 2, 7)] == [True, True, False]
    assert [twin.knows(t) for t in (1, 2, 7, 8, 9)] == [False, False, True, True, True]


def test_the_memory_of_a_full_table_is_small() -> None:
    table = RecycleTable(8, 16384)
    logits = np.zeros((64, 49152), np.float32)
    for first in range(0, 49152, 64):
        table.learn({first + i: i for i in range(64)}, logits)
    assert table.num_tokens == 16384
    assert table.num_bytes < 4 * 49152 + 16384 * (8 * 8 + 4) + 1  # 1.3 MB, 0.3 % of the smallest model at work


@pytest.mark.parametrize("is_tree", [False, True])
def test_a_draft_is_the_likeliest_nodes_of_the_whole_tree(is_tree: bool) -> None:
    """Against all paths of up to six tokens, by brute force."""
    vocab, table = 6, RecycleTable(3, 100)
    logits = np.stack([row(seed, vocab, 1.5) for seed in range(vocab)])
    table.learn({token: token for token in range(vocab)}, logits)
    places = [table._index[token] for token in range(vocab)]
    rows = [[*zip(table._ids[at].tolist(), table._chances[at].tolist(), strict=True)] for at in places]
    rows = rows if is_tree else [followers[:1] for followers in rows]
    paths, reached = [((0,), 1.0)], []
    for _ in range(6):
        paths = [((*path, x), chance * c) for path, chance in paths for x, c in rows[path[-1]]]
        reached += paths
    found = table.draft(0, 6, 0.0, is_tree)[2]
    assert np.allclose(found, sorted((chance for _, chance in reached), reverse=True)[:6])
    assert (np.diff(found) <= 0).all()
