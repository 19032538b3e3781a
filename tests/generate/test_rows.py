"""Rows of a proposal, by the text that leads to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from generate.paged_table import toy
from known_laws import random_table
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadInput, TruedrawError
from truedraw.generate.lent_rows import LentRows
from truedraw.generate.model import Model
from truedraw.generate.rows import LawRows
from truedraw.protocol import NOTHING, ROOT, Proposal, Purpose, Rows, Scores, Verdict, Work
from truedraw.sampling.law import SamplingLaw, softmax
from truedraw.sampling.params import SamplingParams


def test_equal_siblings_are_one_text() -> None:
    """Two independent paths 1 0 and 1 2 stand as two chains: the text 1 2 is found although 1 stands twice."""
    engine = TabularEngine(random_table(3, 3, 5))
    sequence = engine.open([0])
    paths = Proposal(np.array([1, 0, 1, 2]), np.array([ROOT, 0, ROOT, 2]), (None,) * 4)
    scores = engine.forward([Work(sequence, paths)])[0]
    rows = LawRows(SamplingLaw(SamplingParams()), paths, scores)
    before, after = rows.logprobs([1, 2, 0])
    expected = [np.log(softmax(scores.logits[row], 1.0)[token]) for row, token in ((0, 1), (1, 2), (4, 0))]
    assert np.allclose(before, expected)
    assert np.allclose(after, expected)


def test_no_token_is_more_than_certain() -> None:
    """The others are told by the logarithm of the one that was drawn, which is rounded."""
    scores = Scores(np.array([[0.0, 40.0]], np.float32))
    rows = LawRows(SamplingLaw(SamplingParams()), NOTHING, scores)
    assert rows.top_logprobs([0], [float(np.nextafter(-40.0, 0.0))], 1) == (((1, 0.0),),)


def in_single_precision(monkeypatch) -> Model:
    model = toy()
    forward = model.engine.forward

    def given(works, fills=()):
        return [replace(each, logits=each.logits.astype(np.float32)) for each in forward(works, fills)]

    monkeypatch.setattr(model.engine, "forward", given)
    return model


@pytest.mark.parametrize("spec", [False, "suffix"])
@pytest.mark.parametrize("logits_cache_bytes", [0, 1 << 20])
def test_rows_that_an_observer_keeps_end_with_their_round(monkeypatch, spec: object, logits_cache_bytes: int) -> None:
    """An engine may give the scores of every pass in the same memory: they would say something else."""
    model, looked_at, kept = in_single_precision(monkeypatch), list[tuple[Rows, np.ndarray]](), list[Rows]()

    def watch(_sample: int, _proposal: Proposal, rows: Rows, _verdict: Verdict) -> None:
        if len(kept) > len(looked_at):
            looked_at.append((rows, rows[0]))
        else:
            kept.append(rows)

    with model.batch(logits_cache_bytes=logits_cache_bytes) as batch:
        run = batch.add("the cat", n=3, seed=1, max_tokens=9, ignore_eos=True, speculative=spec, observer=watch)
        list(batch.completed())
    assert run.error is None
    assert all(np.array_equal(rows[0], law) for rows, law in looked_at)
    for rows in kept:
        with pytest.raises(BadInput, match="a round that is over"):
            rows[0]


def test_an_observer_cannot_write_into_the_laws() -> None:
    """Mirostat goes on by them: what an observer sorted in place made another text."""
    asked = {"n": 2, "seed": 3, "max_tokens": 40, "ignore_eos": True, "speculative": False, "mirostat": 2}

    def sort(_sample: int, _proposal: Proposal, rows: Rows, _verdict: Verdict) -> None:
        rows[0].sort()

    run = toy().start("the cat", **asked, observer=sort)
    with pytest.raises(TruedrawError, match="read-only"):
        list(run)


@pytest.mark.parametrize("spec", [False, "suffix"])
def test_what_an_observer_does_with_logits_and_hidden_states_is_its_own(monkeypatch, spec: object) -> None:
    """They were the engine's memory: the likeliest tokens beside a text were told of what stood there then."""
    asked = {"n": 2, "seed": 3, "max_tokens": 20, "ignore_eos": True, "speculative": spec, "logprobs": 2}
    model, told, kept = toy(), list[np.ndarray](), list[Any]()
    forward = model.engine.forward

    def with_hidden(works, fills=()):
        return [replace(each, hidden=np.ones((len(each.logits), 1, 2), np.float32)) for each in forward(works, fills)]

    def watch(_sample: int, _proposal: Proposal, rows: Any, verdict: Verdict) -> None:
        kept.append(rows)
        for vector in (*rows.logits(verdict.tokens), rows.hidden):
            vector[:] = 7.0
        told.extend([*rows.logits(verdict.tokens), rows.hidden])

    monkeypatch.setattr(model.engine, "forward", with_hidden)
    run = model.start("the cat", **asked, observer=watch)
    list(run)
    found, wanted = run.result().choices, toy().generate("the cat", **asked).choices
    assert [(each.tokens, each.top_logprobs) for each in found] == [(each.tokens, each.top_logprobs) for each in wanted]
    assert not any((vector == 7.0).any() for vector in told)
    with pytest.raises(BadInput, match="a round that is over"):
        _ = kept[0].hidden


def test_rows_of_a_round_that_failed_are_over_too(monkeypatch) -> None:
    """An observer, or a rule, that raised has kept them all the same."""
    model, kept = in_single_precision(monkeypatch), list[Rows]()

    def watch(_sample: int, _proposal: Proposal, rows: Rows, _verdict: Verdict) -> None:
        kept.append(rows)
        raise ValueError("seen enough")

    def rule(_sample: object, _proposal: Proposal, rows: Rows, _position: int) -> Verdict:
        kept.append(rows)
        raise ValueError("no verdict")

    with pytest.raises(TruedrawError, match="seen enough"):
        list(model.start("the cat", speculative=False, observer=watch))
    monkeypatch.setattr("truedraw.generate.judging._by_rule", rule)
    with pytest.raises(TruedrawError, match="no verdict"):
        list(model.start("the cat", speculative="suffix", observer=watch))
    assert len(kept) == 2
    for rows in kept:
        with pytest.raises(BadInput, match="a round that is over"):
            rows[0]


@pytest.mark.parametrize("node", [0, 3])
def test_rows_that_are_lent_draw_by_the_names_they_are_asked_for(node: int) -> None:
    asked: list[tuple[Purpose, int, int]] = []

    class Chance:
        def choose(self, weights: np.ndarray, purpose: Purpose, position: int, node: int = 0) -> int:
            asked.append((purpose, position, node))
            return 1

    rows: Any = [np.array([0.5, 0.5])]
    chance: Any = Chance()
    assert LentRows(rows).draw(0, chance, Purpose.RESIDUAL, 7, node) == 1
    assert asked == [(Purpose.RESIDUAL, 7, node)]
