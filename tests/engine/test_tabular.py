"""The toy engine: its softmax gives the table back, along chains and trees."""

from __future__ import annotations

import numpy as np
import pytest

from known_laws import lookup, random_table
from truedraw import load
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadParameter, BadPrompt, EngineError
from truedraw.protocol import ROOT, Fill, Proposal, Work
from truedraw.sampling.law import softmax


def test_every_node_of_a_tree_sees_its_own_path() -> None:
    table = random_table(3, 3, 1, zeros=0.3)
    engine = TabularEngine(table)
    sequence = engine.open([0, 2])
    tree = Proposal(np.array([1, 2, 0, 1]), np.array([ROOT, ROOT, 0, 2]), (None,) * 4)
    rows = engine.forward([Work(sequence, tree)])[0].logits
    paths = [[], [1], [2], [1, 0], [1, 0, 1]]
    for row, path in zip(rows, paths, strict=True):
        assert softmax(row, 1.0) == pytest.approx(lookup(table, [0, 2, *path]), abs=1e-15)


def test_forks_go_their_own_ways() -> None:
    engine = TabularEngine(random_table(3, 2, 2))
    first = engine.open([0])
    (second,) = engine.fork(first, 1)
    first.commit([1])
    second.commit([2, 2])
    assert (list(first.tokens), list(second.tokens)) == ([0, 1], [0, 2, 2])


@pytest.mark.parametrize("tokens", [[], [3], [-1]])
def test_a_bad_text_is_refused(tokens) -> None:
    with pytest.raises(BadPrompt):
        TabularEngine(random_table(3, 0, 0)).open(tokens)


def test_a_text_past_the_context_is_refused() -> None:
    engine = TabularEngine(random_table(3, 0, 0), context_length=3)
    sequence = engine.open([0, 1, 2])
    engine.forward([Work(sequence)])
    sequence.commit([0])
    with pytest.raises(EngineError, match="context of 3"):
        engine.forward([Work(sequence)])


def test_a_table_needs_a_row_for_the_empty_context() -> None:
    with pytest.raises(BadParameter, match="empty context"):
        TabularEngine({(0,): [1.0]})


def test_it_counts_what_a_cache_would_hold() -> None:
    engine = TabularEngine(random_table(3, 1, 0))
    sequence = engine.open([0, 1, 2, 0, 1])
    assert engine.forward([], [Fill(sequence, 2)]) == []
    assert sequence.num_uncached == 3
    engine.forward([Work(sequence, Proposal.chain([1, 2]))])
    sequence.commit([1, 2, 0])
    assert sequence.num_uncached == 1
    (twin,) = engine.fork(sequence, 1)
    sequence.evict()
    assert (sequence.num_uncached, twin.num_uncached) == (8, 1)
    for count in (0, 8):
        with pytest.raises(EngineError, match="a fill of"):
            engine.forward([], [Fill(sequence, count)])


def test_a_pass_reads_no_more_of_a_text_than_its_end() -> None:
    class Long(list):
        def __iter__(self):
            raise AssertionError("all of the text was read")

    engine = TabularEngine(random_table(3, 2, 2))
    sequence = engine.open([0, 1, 2, 0])
    expected = engine.forward([Work(sequence)])[0].logits
    sequence._tokens = Long(sequence.tokens)
    assert (engine.forward([Work(sequence)])[0].logits == expected).all()


def test_no_text_goes_on_once_the_model_is_closed() -> None:
    with load("tabular") as model:
        run = model.start("the cat", max_tokens=20, ignore_eos=True, speculative=False)
        next(iter(run))
    with pytest.raises(EngineError, match="the engine is closed; load the model again"):
        list(run)
    with pytest.raises(EngineError, match="the engine is closed; load the model again"):
        model.generate("the cat")
