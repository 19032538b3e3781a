"""Rows that each thread norms for itself: that changes no bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.decoder import CONFIGS, PLAIN, RandomWeights, tiny_engine
from truedraw.engine.native import runner
from truedraw.engine.native.chunks import CHUNK
from truedraw.engine.native.spans import Sharing
from truedraw.engine.native.together import CROWD, FEW, FEW_IN_A_CROWD, ways
from truedraw.protocol import Proposal, Work

THREE = replace(PLAIN, num_heads=6, num_kv_heads=3, hidden_size=192, intermediate_size=160)
MODELS = {"three heads of keys": THREE, "biases": CONFIGS["qwen2"], "normed keys": CONFIGS["qwen3"]}
TEXT = [7919 * place % PLAIN.vocab_size for place in range(120)]


def engine_of(tmp_path, name: str, threads: int):
    config = MODELS[name]
    return tiny_engine(tmp_path, config, RandomWeights(config, seed=3), numerics="native", threads=threads)


def passes(engine, counts=(1, 2, 3, 4, 5, 8, 9, 20)) -> list[np.ndarray]:
    """Logits of chains of so many rows, of a tree, and of three texts together."""
    texts = [engine.open(TEXT[first : first + 45], alone=True) for first in (0, 20, 40)]
    tree = Proposal(np.array([5, 6, 7]), np.array([-1, -1, 0]), (None, None, None))
    works = [[Work(texts[0], Proposal.chain(TEXT[60 : 59 + count]))] for count in counts]
    works += [[Work(texts[0], tree)], [Work(text, Proposal.chain(TEXT[60:62])) for text in texts]]
    found = [np.concatenate([each.logits.copy() for each in engine.forward(some)]) for some in works]
    for text in texts:
        text.close()
    return found


@pytest.mark.parametrize("name", MODELS)
def test_the_same_bits_whoever_norms(tmp_path, monkeypatch, name) -> None:
    alone = passes(engine_of(tmp_path, name, 2))
    others = [passes(engine_of(tmp_path, name, threads)) for threads in (1, CROWD + 1)]
    monkeypatch.setattr(runner, "ways", lambda threads: ways(threads)._replace(few=0))  # every row is handed over
    others.append(passes(engine_of(tmp_path, name, 2)))
    for found in others:
        for own, other in zip(alone, found, strict=True):
            assert np.array_equal(own, other)


def test_a_thread_that_comes_late_changes_nothing(tmp_path) -> None:
    """It norms rows that others have gone on with, and finds that there is nothing to multiply them with."""
    engine, single = engine_of(tmp_path, "three heads of keys", 2), engine_of(tmp_path, "three heads of keys", 1)
    expected = passes(single, counts=(1, 4, 9))
    for _ in range(150):
        for found, usual in zip(passes(engine, counts=(1, 4, 9)), expected, strict=True):
            assert np.array_equal(found, usual)


def test_few_rows_are_normed_where_no_other_thread_writes(tmp_path) -> None:
    """In memory that others read, a thread that comes late would spoil what they go on with."""
    engine = engine_of(tmp_path, "three heads of keys", 2)
    passes(engine)
    held = engine._live().runner._memory._held
    rounded = [numbers for numbers, _ in (held[5], held[7])]  # what queries, keys and values, and gates are made of
    for numbers in rounded:
        numbers[:] = 77
    passes(engine)
    assert all((numbers == 77).all() for numbers in rounded)


@pytest.mark.parametrize(("sharing", "rows_of_text", "longest", "cut"), [
    ((3, 3, 2), 3, 9, 6), ((3, 3, 2), 4, 9, 2), ((3, 3, 2), 5, 9, 3), ((3, 3, 2), 6, 9, 3), ((3, 3, 2), 7, 9, 6),
    ((3, 3, 2), 64, 9, 6), ((3, 3, 1), 6, 9, 6), ((3, 3, 3), 6, 9, 6), ((3, 3, 2), 6, 2 * CHUNK - 1, 3),
    ((3, 3, 2), 6, 2 * CHUNK, 6), ((9, 1, 2), 18, 9, 18), ((5, 1, 2), 18, 9, 18), ((9, 1, 8), 18, 9, 6),
    ((1, 9, 2), 1, 9, 4), ((1, 9, 2), 2, 9, 1), ((1, 9, 2), 4, 9, 2), ((1, 9, 2), 5, 9, 4), ((1, 71, 64), 4, 9, 1),
])  # fmt: skip
def test_spans_are_cut_where_threads_would_wait(sharing, rows_of_text, longest, cut) -> None:
    """And where no chunks are shared."""
    assert Sharing(*sharing).span(rows_of_text, longest) == cut


def test_many_threads_norm_fewer_rows_each() -> None:
    assert [ways(threads).few for threads in (1, 2, CROWD, CROWD + 1, 64)] == [FEW, FEW, FEW, *[FEW_IN_A_CROWD] * 2]


@pytest.mark.parametrize("name", MODELS)
def test_what_no_row_sees_may_be_no_number(tmp_path, name) -> None:
    """A page may hold anything where nobody has written yet, beside the last value of a text, too."""
    fresh, spoilt = engine_of(tmp_path, name, 2), engine_of(tmp_path, name, 2)
    spoilt._passes.runner._cache[:] = 0x7FC0
    for own, other in zip(passes(fresh), passes(spoilt), strict=True):
        assert np.isfinite(own).all()
        assert np.array_equal(own, other)


@pytest.mark.parametrize("length", [45, 46])
def test_nor_what_a_node_of_a_tree_does_not_see(tmp_path, length) -> None:
    """A draft whose numbers are none spoils what stands behind it, and nothing beside it."""
    engine, spoilt = engine_of(tmp_path, "three heads of keys", 2), 77
    runner = engine._passes.runner
    (codes, scales), *others = runner._model
    scales = scales.copy()
    scales[spoilt] = np.nan
    runner._model = (codes, scales), *others
    text = engine.open([token for token in TEXT if token != spoilt][:length], alone=True)
    tree = Proposal(np.array([spoilt, 5, 6, 7, 8]), np.array([-1, 0, -1, 2, 3]), (None,) * 5)
    among = engine.forward([Work(text, tree)])[0].logits.copy()
    alone = engine.forward([Work(text, Proposal.chain([6, 7, 8]))])[0].logits
    assert not np.isfinite(among[1:3]).any()
    assert np.isfinite(alone).all()
    assert np.array_equal(among[[0, 3, 4, 5]], alone)
