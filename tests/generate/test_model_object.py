"""A model, a run and a batch as Python objects: once closed, shown, copied."""

from __future__ import annotations

import copy
import pickle

import pytest

from truedraw import load
from truedraw.errors import EngineError, TruedrawError


@pytest.mark.parametrize("name", ["tabular", "smollm2-135m"])
def test_a_closed_model_says_so_at_once(name: str) -> None:
    with load(name) as model:
        batch = model.batch()
    asked = [
        (model.batch, ()),
        *((ask, ("the cat",)) for ask in (model.generate, model.start, model.stream, batch.add)),
    ]
    for ask, prompt in asked:
        with pytest.raises(EngineError, match=r"^the engine is closed; load the model again$"):
            ask(*prompt)
    assert not batch.step()
    model.close()


def test_what_they_show() -> None:
    with load("tabular") as model, model.batch() as batch:
        assert repr(model) == "<truedraw.Model 'tabular', TabularEngine, no draft of its own>"
        run = batch.add("the cat", n=2, max_tokens=3, ignore_eos=True)
        assert repr(run) == "<truedraw.Generation 2 samples of 'tabular', not begun, 0 tokens>"
        assert repr(batch) == "<truedraw.Batch of 'tabular', requests: 1, samples unfinished: 2, tokens: 0>"
        next(iter(run))
        assert ", running, " in repr(run)
        assert [each is run for each in batch.completed()] == [True]
        assert repr(run) == "<truedraw.Generation 2 samples of 'tabular', ended, 6 tokens>"
    assert repr(batch) == "<truedraw.Batch of 'tabular', requests: 0, closed, tokens: 6>"
    assert repr(model).endswith(", closed>")


def test_what_a_stream_shows() -> None:
    with load("tabular") as model, model.stream("the cat", max_tokens=3, ignore_eos=True) as stream:
        assert repr(stream) == "<truedraw.Stream 1 sample of 'tabular', not begun, 0 tokens>"
        next(stream)
        assert repr(stream) == "<truedraw.Stream 1 sample of 'tabular', running, 1 tokens>"


def test_what_a_run_that_failed_shows(monkeypatch) -> None:
    with load("tabular") as model:
        run = model.start("the cat")
        monkeypatch.setattr(model.engine, "forward", lambda *given: 1 / 0)
        with pytest.raises(TruedrawError):
            list(run)
        assert repr(run) == "<truedraw.Generation 1 sample of 'tabular', failed: TruedrawError, 0 tokens>"


def test_what_a_model_with_a_draft_shows() -> None:
    with load("smollm2-135m") as model:
        named = f"<truedraw.Model 'smollm2-135m', CPUEngine, {model.engine.numerics} numerics, draft '"
        assert repr(model).startswith(named)
        assert len(repr(model)) < 200


@pytest.mark.parametrize("act", [copy.copy, copy.deepcopy, pickle.dumps])
def test_no_copies(act) -> None:
    with load("tabular") as model, model.batch() as batch:
        run = model.start("the cat", max_tokens=3)
        next(iter(run))
        stream = model.stream("the cat", max_tokens=3)
        for each in (model, run, batch, stream):
            with pytest.raises(TypeError, match=r"^<truedraw\.\w+ .*> cannot be copied or pickled; \w+"):
                act(each)
        assert act(run.result())
