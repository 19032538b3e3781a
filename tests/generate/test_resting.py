"""Where a controller rests nobody is asked, and drafters that may hear of the text later hear of it in time."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from truedraw import load
from truedraw.control.fixed import FixedController
from truedraw.control.payoff import PayoffController
from truedraw.draft.ngram import NgramDrafter, NgramState
from truedraw.draft.several import SeveralStates
from truedraw.generate.calls import Calls
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.generate.guesses import guess
from truedraw.generate.sample import Parts, Sample, Turn
from truedraw.generate.shared_drafters import SharedDrafter
from truedraw.protocol import NOTHING, Choice, Proposal, Scores
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness

SCORES = Scores(np.zeros((1, 3)))
FREE = SamplingLaw(SamplingParams())
RESTS = (0, 0, 3, 1, 0, 5, 0, 0, 2, 0)


class Listening:
    """A state that writes down what it hears."""

    def __init__(self, dozes: bool) -> None:
        self.dozes = dozes
        self.heard: list[tuple[tuple[int, ...], bool]] = []
        self.closed = False

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        assert not self.closed
        self.heard.append((tuple(tokens), scores is not None))

    def ahead(self, tokens: Sequence[int]) -> Listening:
        return self

    def close(self) -> None:
        self.closed = True

    @property
    def text(self) -> list[int]:
        return [token for tokens, _ in self.heard for token in tokens]


class Drafter:
    """Opens such states."""

    def __init__(self, dozes: bool = True) -> None:
        self.dozes, self.states = dozes, []

    def open(self, tokens, law) -> Listening:
        self.states.append(Listening(self.dozes))
        return self.states[-1]

    def propose(self, states, budgets, randomness) -> list[Proposal]:
        assert all(isinstance(state, Listening) for state in states)
        self.seen = [list(state.text) for state in states]
        return [NOTHING for _ in states]


def dozed(dozes: bool = True, calls: Calls | None = None):
    """A guarded state that has dozed through two rounds, and the drafter's own."""
    guard = GuardedDrafter(Drafter(dozes), 9, calls)
    state = guard.open([1], None)
    state.commit((2,), SCORES)
    state.doze((3, 4), SCORES)
    state.doze((5,), SCORES)
    return guard, state, guard.drafter.states[0]


def test_what_was_written_is_told_at_once_before_the_next_round() -> None:
    _, state, own = dozed()
    assert own.heard == [((2,), True)]
    state.commit((6,), SCORES)
    assert own.heard == [((2,), True), ((3, 4, 5), False), ((6,), True)]
    state.commit((7,), SCORES)
    assert own.text == [2, 3, 4, 5, 6, 7]


def test_whoever_needs_the_scores_hears_of_every_round() -> None:
    _, _, own = dozed(dozes=False)
    assert own.heard == [((2,), True), ((3, 4), True), ((5,), True)]


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("way", ["ahead", "propose", "shared", "close"])
def test_nobody_is_asked_or_closed_before_he_has_heard_all(way, beside) -> None:
    guard, state, own = dozed(calls=Calls(5.0, beside))
    if way == "ahead":
        state.ahead([7])
    elif way == "propose":
        guard.propose([state], [2], [PhiloxRandomness(1)])
    elif way == "shared":
        shared = SharedDrafter(guard.drafter)
        shared.propose([state], [2], [PhiloxRandomness(1)])
    else:
        state.close()
    assert own.text == [2, 3, 4, 5]
    assert guard.fault is None


def test_of_several_each_as_it_can() -> None:
    parts = [dozed(), dozed(dozes=False)]
    several = SeveralStates({str(number): state for number, (_, state, _) in enumerate(parts)} | {"none": None})
    several.doze((6,), SCORES)
    assert [own.text for _, _, own in parts] == [[2], [2, 3, 4, 5, 6]]
    several.commit((7,), SCORES)
    assert [own.text for _, _, own in parts] == [[2, 3, 4, 5, 6, 7]] * 2


def test_an_error_in_what_was_told_late_is_the_drafters_end() -> None:
    guard, state, own = dozed()
    own.commit = lambda *given: 1 / 0
    assert state.awake() is own
    assert "ZeroDivisionError" in guard.fault


class Resting:
    """Rests by a plan, which begins anew; it asks for a token in other rounds."""

    def __init__(self) -> None:
        self.left, self.plan, self.asked, self.rested = 0, list(RESTS), 0, 0

    def rest(self, samples) -> list[int]:
        if not self.left:
            self.plan = self.plan[1:] + self.plan[:1]
            self.left = self.plan[0]
            if not self.left:
                return [0 for _ in samples]
        self.left, self.rested = self.left - 1, self.rested + 1
        return [self.left + 1 for _ in samples]

    def budget(self, askers):
        self.asked += 1
        assert self.left == 0
        return [dict.fromkeys(asker.sources, 1) for asker in askers]

    def choose(self, askers, offers, seconds):
        return [Choice() for _ in askers]

    def observe(self, rounds) -> None:
        pass


@pytest.mark.parametrize("n", [1, 3])
def test_in_a_run_every_state_hears_the_whole_text(monkeypatch, n) -> None:
    heard: dict[int, list[tuple[tuple[int, ...], bool]]] = {}
    commit, propose = NgramState.commit, NgramDrafter.propose

    def listening(state, tokens, scores=None):
        heard.setdefault(id(state), []).append((tuple(tokens), scores is not None))
        commit(state, tokens, scores)

    def asked(drafter, states, *given):
        assert all(heard[id(state)][-1][1] for state in states if len(heard[id(state)]) > 1)
        return propose(drafter, states, *given)

    monkeypatch.setattr(NgramState, "commit", listening)
    monkeypatch.setattr(NgramDrafter, "propose", asked)
    controllers = [Resting()]
    monkeypatch.setattr("truedraw.generate.model.PayoffController", lambda _: controllers[0])
    with load("tabular") as model:
        given = {"n": n, "max_tokens": 60, "seed": 1, "ignore_eos": True}
        result = model.generate("the", **given, speculative={"method": "ngram"})
        states = dict(heard)
        plain = model.generate("the", **given, speculative={"method": "none"})
    assert [choice.tokens for choice in result.choices] == [choice.tokens for choice in plain.choices]
    begun = len(model.tokenizer.encode("the"))
    texts = sorted(tuple(token for tokens, _ in each for token in tokens)[begun:] for each in states.values())
    assert texts == sorted(tuple(choice.tokens) for choice in result.choices)
    assert controllers[0].asked > 10
    assert controllers[0].rested > 10
    assert max(len(tokens) for each in states.values() for tokens, _ in each[1:]) == max(RESTS) - 1


def test_a_controller_is_not_asked_for_nobody(monkeypatch) -> None:
    """Where the states of all its samples fail, there is nothing to share out."""
    sample = Sample(0, Parts(None, None), FREE, None, SimpleNamespace(room=9), None, None)
    failed: list[Exception] = []
    schedule = SimpleNamespace(failed=lambda _, error: failed.append(error))
    turn, controller = Turn([sample]), PayoffController()
    monkeypatch.setattr("truedraw.generate.guess._fresh_guess", lambda *_: 1 / 0)
    assert guess(controller, schedule, turn) == 0.0
    assert [type(error) for error in failed] == [ZeroDivisionError]
    assert not turn.samples


def test_nobody_is_asked_where_nothing_is_ever_to_be_drafted() -> None:
    assert all(FixedController(0).rest([0, 1]))
    assert not any(FixedController(1).rest([0, 1]))

    parts = Parts(NgramDrafter(), None, controller=FixedController(0))  # no verifier: an asker needs one
    sample = Sample(
        0, parts, FREE, PhiloxRandomness(1), SimpleNamespace(room=9), None, NgramDrafter().open([1, 2, 1], FREE)
    )
    guess(FixedController(3), None, Turn([sample]))
    assert sample.proposal is not None
    assert not len(sample.proposal)
    assert sample.source == ""
