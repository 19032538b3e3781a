"""Rows that a draft model has computed already are those of the text that asks for them, whoever stood there before."""

from __future__ import annotations

import numpy as np
import pytest

from engine.drafted.witness import Witness
from known_laws import random_table
from truedraw.engine.drafted import ScoringEngine
from truedraw.engine.tabular import TabularEngine
from truedraw.protocol import Proposal, Work

TABLE = random_table(3, 3, 9)  # looks three tokens back, so that rows of another text are other rows
START = [0, 1]


def scores(engine, text, *drafts):
    return engine.forward([Work(text, Proposal.chain(drafts))])[0].logits.copy()


def alone(*drafts):
    engine = TabularEngine(TABLE)
    return scores(engine, engine.open(START), *drafts)


def drafting_of(engine, origin, token):
    """A text of the draft model behind `origin`, one token on."""
    text = engine.drafting.fork(origin, 1)[0]
    text.commit([token])
    return text


def equal_texts(engine, count):
    """So many of a scoring engine, and a text of the draft model behind which drafts stand behind one of these."""
    first = engine.open(START)
    texts = [first, *engine.fork(first, count - 1)]
    origin = engine.drafting.open(START)
    scores(engine.drafting, origin)
    scores(engine.drafting, drafting_of(engine, origin, 2))  # from here on it is known behind which text drafts stand
    return texts, origin


@pytest.mark.parametrize("stays", range(6))
def test_a_draft_behind_one_of_several_equal_texts_goes_by_the_one_that_has_stayed(stays) -> None:
    engine = ScoringEngine(TabularEngine(TABLE))
    texts, origin = equal_texts(engine, 6)
    for text in texts:
        if text is not texts[stays]:
            text.commit([0])
    other = drafting_of(engine, origin, 1)
    expected = alone(1, 2)
    np.testing.assert_array_equal(scores(engine.drafting, other, 2), expected[1:])
    np.testing.assert_array_equal(scores(engine, texts[stays], 1, 2), expected)


@pytest.mark.parametrize("stays", [0, 1])
def test_a_draft_goes_by_no_text_that_was_closed(stays) -> None:
    engine = ScoringEngine(Witness(TABLE))
    texts, origin = equal_texts(engine, 2)
    texts[1 - stays].close()
    np.testing.assert_array_equal(scores(engine.drafting, drafting_of(engine, origin, 1), 2), alone(1, 2)[1:])
    np.testing.assert_array_equal(scores(engine, texts[stays], 1, 2), alone(1, 2))


def test_a_draft_that_the_text_has_caught_up_with_has_rows_of_its_own_place() -> None:
    engine = ScoringEngine(Witness(TABLE))
    text, origin = engine.open(START), engine.drafting.open(START)
    scores(engine.drafting, origin)
    draft = drafting_of(engine, origin, 2)
    assert (origin.num_uncached, draft.num_uncached) == (1, 2)
    scores(engine.drafting, draft)
    text.commit([2])
    np.testing.assert_array_equal(scores(engine.drafting, draft), alone(2)[1:])
    text.commit([0])
    assert (origin.num_uncached, draft.num_uncached) == (len(START), len(START) + 1)
    np.testing.assert_array_equal(scores(engine.drafting, draft), alone(2)[1:])


class Tight(TabularEngine):
    """Says whether there is room as it was told to, and yes after that."""

    def __init__(self, table) -> None:
        super().__init__(table)
        self.answers: list[bool] = []

    def fits(self, works, fills=()):
        return self.answers.pop(0) if self.answers else True

    def forward(self, works, fills=()):
        self.asked = len(works)
        return super().forward(works, fills)


def test_where_drafts_are_forgotten_for_room_their_rows_are_computed_anew() -> None:
    inner = Tight(TABLE)
    engine = ScoringEngine(inner)
    text, origin = engine.open(START), engine.drafting.open(START)
    scores(engine.drafting, origin)
    scores(engine.drafting, drafting_of(engine, origin, 2))
    inner.answers = [False]
    np.testing.assert_array_equal(scores(engine, text, 2, 1), alone(2, 1))
    assert not inner.answers


def test_for_room_the_drafts_of_all_texts_of_a_pass_are_forgotten() -> None:
    inner = Tight(TABLE)
    engine, starts = ScoringEngine(inner), (START, [2, 2])
    texts = [engine.open(start) for start in starts]
    drafts = [engine.drafting.open(start) for start in starts]
    engine.drafting.forward([Work(draft) for draft in drafts])
    inner.answers = [False]
    engine.forward([Work(text) for text in texts])
    assert inner.asked == len(texts)


def test_what_a_drafter_writes_into_its_scores_the_text_is_not_scored_by() -> None:
    engine = ScoringEngine(TabularEngine(TABLE))
    text, draft = engine.open(START), engine.drafting.open(START)
    for _ in range(2):
        engine.drafting.forward([Work(draft)])[0].logits[:] = 0.0
    assert np.array_equal(scores(engine, text), alone())


def test_what_drafters_hold_of_their_own_makes_room_for_the_text() -> None:
    """As of a text that they spell otherwise, which is nobody's that is scored."""
    engine = ScoringEngine(Witness(TABLE, slots=6))
    text, spelled = engine.open(START), engine.drafting.open([*START, 1])
    expected = scores(engine.drafting, spelled)
    np.testing.assert_array_equal(scores(engine, text, 1, 2), alone(1, 2))
    assert spelled.num_uncached == len(spelled.tokens)
    text.close()
    np.testing.assert_array_equal(scores(engine.drafting, spelled), expected)
    spelled.close()
    assert not engine.engine.open_texts


def test_what_is_known_has_room_in_an_engine_without_any(monkeypatch) -> None:
    engine = ScoringEngine(TabularEngine(TABLE))
    text, draft = engine.open(START), engine.drafting.open(START)
    monkeypatch.setattr(engine.engine, "fits", lambda works, fills=(): False)
    assert not engine.drafting.fits([Work(draft, Proposal.chain(()))])
    scores(engine.drafting, draft)
    assert engine.drafting.fits([Work(draft, Proposal.chain(()))])
    assert list(text.tokens) == START
