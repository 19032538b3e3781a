"""The counting engine counts what it hands on, and nothing else about it changes."""

from __future__ import annotations

import pytest

from generate.one_text import beside_a_head, opened
from truedraw import load
from truedraw.bench.counted import Counted, counted
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import EngineError
from truedraw.models.toy import TOY_TABLE
from truedraw.protocol import Engine, Proposal, Work


def test_passes_and_rows():
    engine = Counted(TabularEngine(TOY_TABLE))
    one, other = engine.open([0]), engine.open([0, 1])
    expected = one.num_uncached + other.num_uncached + 2
    engine.forward([Work(one), Work(other, Proposal.chain([1, 3]))])
    assert (engine.passes, engine.rows) == (1, expected)
    assert isinstance(engine, Engine)


def test_a_pass_that_fails_does_not_count():
    engine = Counted(TabularEngine(TOY_TABLE, context_length=2))
    with pytest.raises(EngineError):
        engine.forward([Work(engine.open([0, 1, 2]))])
    assert (engine.passes, engine.rows) == (0, 0)


def test_a_counted_model_draws_the_same():
    model = load("tabular")
    watched, engine = counted(model)
    texts = [run.generate([0], seed=3, max_tokens=6).choices[0].tokens for run in (model, watched)]
    assert texts[0] == texts[1]
    assert engine.passes > 0
    assert model.engine is not watched.engine


def test_what_only_this_engine_has_is_still_there():
    engine = Counted(TabularEngine(TOY_TABLE))
    assert engine.vocab_size == 6
    with pytest.raises(AttributeError, match="invariance"):
        _ = engine.invariance


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model whose rounds of several texts compiled code runs."""
    place = beside_a_head(tmp_path_factory.mktemp("counted"), kind="attentive")
    with opened(place, draft=place.head, numerics="native") as loaded:
        yield loaded


@pytest.mark.parametrize("speculative", [False, {"method": "head", "adaptive": False, "num_speculative_tokens": 2}])
def test_passes_that_compiled_code_runs_count_like_any_others(small, speculative, monkeypatch):
    found = []
    for run in range(2):
        if run:
            monkeypatch.setattr(Counted, "abreast", None, raising=False)
        watched, engine = counted(small)
        drawn = watched.generate("once upon", seed=1, n=3, max_tokens=30, speculative=speculative)
        found.append((engine.passes, engine.rows, [choice.tokens for choice in drawn.choices]))
    assert found[0] == found[1]
