"""A given text as draft: followed, lost, found again, and never believed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suffix_drafts import drafts

from known_laws import SCENARIOS
from truedraw.draft.prediction import LONGEST, TRUSTED, PredictionDrafter, found
from truedraw.errors import BadParameter
from truedraw.protocol import Drafter, DraftState, LooksAhead
from truedraw.registry import find
from truedraw.testing import drafter_checks
from truedraw.testing.checks import require_exact

PROMPT = (0, 1)
WORDS = {"one": 1, "two": 2, "three": 3}


class Words:
    """A tokenizer of a few words."""

    def encode(self, text, add_special=True):
        return [9] * add_special + [WORDS[word] for word in text.split()]


def models(vocab=10) -> SimpleNamespace:
    return SimpleNamespace(tokenizer=Words(), vocab_size=vocab)


def make(prediction, vocab=10) -> PredictionDrafter:
    return PredictionDrafter(models(vocab), prediction=prediction)


def behind(prediction, *rounds, budget=3):
    """What is drafted after these rounds."""
    drafter = make(prediction, 100)
    state = drafter.open(PROMPT, None)
    for tokens in rounds:
        state.commit(tokens)
    return drafts(drafter, state, budget)


@pytest.mark.parametrize(("vocab", "prediction"), [(3, [1, 0, 2, 1, 1, 0]), (50, [7, 8, 9, 7]), (3, [2])], ids=str)
def test_it_keeps_the_contract_of_a_drafter(vocab, prediction) -> None:
    for check in drafter_checks(lambda: make(prediction, vocab), vocab):
        check()


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive", "kseq", "multipath", "coupled"])
def test_texts_keep_the_law(rule) -> None:
    for scenario in SCENARIOS:
        prediction = [token % len(scenario.target[()]) for token in (1, 0, 1, 2, 0)]
        short = replace(scenario, draft_tokens=2, max_tokens=3)
        require_exact(short, PROMPT, find("verifiers", rule)(), make(prediction, len(scenario.target[()])))


def test_parts_are_what_the_protocol_asks_for() -> None:
    drafter = make([1, 2])
    state = drafter.open(PROMPT, None)
    assert isinstance(drafter, Drafter)
    for each in (state, state.ahead([1])):
        assert isinstance(each, DraftState)
        assert isinstance(each, LooksAhead)


def test_the_prediction_is_followed_to_its_end() -> None:
    text = [5, 6, 7, 8, 9]
    assert behind(text) == [5, 6, 7]
    assert behind(text, [5]) == [6, 7, 8]
    assert behind(text, [5, 6, 7], [8]) == [9]
    assert behind(text, text) == []
    assert behind(text, budget=0) == []
    assert behind("two one three", [2]) == [1, 3]


@pytest.mark.parametrize(("written", "expected"), [
    ([50, 51, 52, 40, 54], [55, 56, 57]),  # one token became another one
    ([50, 51, 52, 54], [55, 56, 57]),  # left out
    ([50, 51, 52, 40, 41, 53], [54, 55, 56]),  # put in
    ([50, 51, 52, 40], []),  # nothing known
    ([40, 50], [51, 52, 53]),  # from the beginning
    ([50, 51, 52, 53, 54, 50, 51], [52, 53, 54]),  # back
], ids=str)  # fmt: skip
def test_after_a_mismatch_it_goes_on_where_the_text_does(written, expected) -> None:
    text = [50, 51, 52, 53, 54, 55, 56, 57]
    assert behind(text, written) == expected
    assert behind(text, *([token] for token in written)) == expected


def test_the_longest_agreement_wins_then_the_nearest_ahead() -> None:
    text = [50, 51, 52, 7, 60, 53, 54, 7, 61, 9, 7, 62]
    assert behind(text, [50, 51, 52, 8, 7], budget=1) == [60]
    assert behind(text, [50, 51, 52, 7, 60, 8, 7], budget=1) == [61]
    assert behind(text, [50, 51, 52, 8, 9, 7], budget=1) == [62]
    assert behind(text, [*text, 40, 53], budget=1) == [54]
    assert behind(text, [*text, 40, 7], budget=1) == [62]  # all behind: the nearest


def test_a_place_found_by_chance_is_none_to_look_ahead_from() -> None:
    text = [50, 51, 52, 53, 7, 60, 61, 62, 63, 64, 7, 65]
    far = [50, 51, 52, 40, 64]  # 64 was written by chance
    assert behind(text, far, budget=1) == [7]
    assert behind(text, far, [41], [7], budget=1) == [60]  # not 65, which is ahead of 64
    assert TRUSTED > 1


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=20), st.lists(st.integers(0, 2), max_size=8), st.integers(0, 20)
)
def test_places_are_those_of_a_scan(predicted, written, parted) -> None:
    best = {}
    for end in range(1, len(predicted) + 1):
        n = 0
        while n < min(end, len(written)) and predicted[end - 1 - n] == written[-1 - n]:
            n += 1
        if n:
            best.setdefault(n, []).append(end)
    expected = (None, 0)
    if best:
        ends = best[max(best)]
        expected = next((end for end in ends if end > parted), ends[-1]), max(best)
    assert found(np.array(predicted), written, parted) == expected


def test_trust_grows_with_agreement() -> None:
    drafter = make(list(range(10)))
    state = drafter.open(PROMPT, None)
    confidence = []
    for token in range(5):
        (proposal,) = drafter.propose([state], [3], [None])
        assert (np.diff(proposal.confidence) > 0).all()
        confidence.append(proposal.confidence[0])
        state.commit([token])
    assert confidence == sorted(set(confidence))
    assert 0 < confidence[0] <= confidence[-1] < 1


def test_a_look_ahead_leaves_everything_as_it_is() -> None:
    drafter = make([5, 6, 7, 8, 5, 9])
    state = drafter.open(PROMPT, None)
    state.commit([5])
    assert drafts(drafter, state.ahead([6, 7]), 3) == [8, 5, 9]
    assert drafts(drafter, state.ahead([4]), 3) == []
    assert drafts(drafter, state.ahead([4]).ahead([8]), 3) == [5, 9]
    assert drafts(drafter, state, 3) == [6, 7, 8]


def test_only_the_end_of_a_text_is_kept() -> None:
    drafter = make([1] * 50)
    state = drafter.open(PROMPT, None)
    state.commit([2] * 1000)
    assert len(state._written) == LONGEST


@pytest.mark.parametrize("given_", [None, "", [], 5, [1, 2.0], [True], [-1], [10], b"text", "one \ud83e two"], ids=repr)
def test_bad_predictions_are_refused(given_) -> None:
    with pytest.raises(BadParameter) as raised:
        make(given_)
    assert raised.value.parameter == "prediction"
