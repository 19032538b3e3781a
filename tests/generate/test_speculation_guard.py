"""A drafter that fails or lies about its draws is given up, said so, and never bends the text."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from enumeration import law_of, total_variation
from known_laws import Scenario, TableDrafter, random_table, text_law
from truedraw import Model, load
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.protocol import NOTHING, ROOT, Proposal
from truedraw.registry import BUILT_IN, find
from truedraw.testing.runs import PROMPT, run

CASE = Scenario("guarded", random_table(3, 1, 50), random_table(3, 1, 51), draft_tokens=2, max_tokens=3)
TEXT = "the cat sat ran dog sat ran"


class Faulty(TableDrafter):
    """Keeps its contract in the first round, and breaks it in one way in the second."""

    broken: tuple = ()

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return self.spoil(found) if any(len(s.text) > len(PROMPT) for s in states) else found

    def spoil(self, found):
        raise NotImplementedError


def laws_of(change):
    def spoil(self, found):
        return [Proposal(p.tokens, p.parents, tuple(change(q, t) for q, t in zip(p.laws, p.tokens, strict=True)))
                for p in found]  # fmt: skip

    return type("Laws", (Faulty,), {"spoil": spoil})


def raising(error):
    def spoil(self, found):
        raise error

    return type("Raises", (Faulty,), {"spoil": spoil})


def answering(make):
    return type("Answers", (Faulty,), {"spoil": lambda self, found: make(found)})


def without_token(q, token):
    q = q.copy()
    q[token] = 0.0
    return q / q.sum() if q.sum() else np.array([0.0, 0.5, 0.5])


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


FAULTS = {
    "raises": (raising(RuntimeError("no more ideas")), "propose: RuntimeError: no more ideas"),
    "raises what says nothing": (raising(Mute()), "propose: Mute, which does not say why"),
    "raises what is no sentence": (raising(KeyError(3)), "propose: KeyError: 3"),
    "q is NaN": (laws_of(lambda q, t: q * np.nan), "sums to nan"),
    "q has a NaN": (laws_of(lambda q, t: np.array([q[0], np.nan, q[2]])), "sums to nan"),
    "q of another sum": (laws_of(lambda q, t: q * 1.01), "sums to 1.0"),
    "q below zero": (laws_of(lambda q, t: np.array([1.5, -0.5, 0.0])), "least entry is -0.5"),
    "q of another vocabulary": (laws_of(lambda q, t: np.full(4, 0.25)), "has shape (4,)"),
    "token outside q": (laws_of(without_token), "its own token"),
    "an unknown token": (answering(lambda found: [Proposal.chain([7]) for _ in found]), "is token 7"),
    "too many": (answering(lambda found: [Proposal.chain([0] * 9) for _ in found]), "a budget of"),
    "a tree out of order": (
        answering(lambda found: [Proposal(np.array([0]), np.array([1]), (None,)) for _ in found]), "has parent 1"),
    "laws are missing": (
        answering(lambda found: [Proposal(np.array([0]), np.array([ROOT]), ()) for _ in found]), "0 laws"),
    "tokens in a list": (answering(lambda found: [Proposal([0], [ROOT], (None,))]), "tokens are a list"),
    "q in a list": (laws_of(lambda q, t: q.tolist()), "node 0 is a list; give an array"),
    "no proposals": (answering(lambda found: []), "1 texts got 0 proposals"),
    "something else": (answering(lambda found: [None]), "BadProposal: a text got a NoneType"),
}  # fmt: skip


def guarded(kind) -> GuardedDrafter:
    return GuardedDrafter(kind(CASE.draft), 3)


@pytest.mark.parametrize("rule", ["traversal", "coupled"])
@pytest.mark.parametrize("name", FAULTS)
def test_the_text_keeps_its_law_and_the_fault_is_said(name: str, rule: str) -> None:
    kind, told = FAULTS[name]
    faults = set()

    def text(walker):
        drafter = guarded(kind)
        found = run(CASE, walker, find("verifiers", rule)(), drafter)[0]
        faults.add(drafter.fault)
        return found

    assert total_variation(law_of(text), text_law(CASE, PROMPT)) < 1e-12
    assert any(told in fault for fault in faults if fault is not None)


def test_an_honest_drafter_is_left_alone() -> None:
    drafter, bare = guarded(TableDrafter), TableDrafter(CASE.draft)
    laws = [
        law_of(lambda walker, d=d: run(CASE, walker, find("verifiers", "traversal")(), d)[0]) for d in (drafter, bare)
    ]
    assert laws[0] == laws[1]
    assert drafter.fault is None


class Fails:
    """A drafter that fails in one of its other methods."""

    def __init__(self, where) -> None:
        self.where, self.proposed = where, 0

    def open(self, tokens, law):
        self.fail("open")
        return self

    def commit(self, tokens, scores):
        self.fail("commit")

    def ahead(self, tokens):
        self.fail("ahead")
        return self

    def propose(self, states, budgets, randomness):
        self.proposed += 1
        return [NOTHING] * len(states)

    def fail(self, where):
        if where == self.where:
            raise OSError(f"{where} broke")


@pytest.mark.parametrize("where", ["open", "commit", "ahead"])
def test_it_may_fail_anywhere(where: str) -> None:
    inner = Fails(where)
    drafter = GuardedDrafter(inner, 3)
    state = drafter.open([0], None)
    state.commit([1], None)
    assert drafter.propose([state.ahead([2])], [3], [None]) == [NOTHING]
    assert drafter.fault == f"{where}: OSError: {where} broke"
    assert inner.proposed == 0
    state.close()
    drafter.close()


class SaysOfItself(Fails):
    """One whose states fail where they are asked what they are."""

    closed = 0

    def __getattr__(self, name):
        if name == self.where:
            raise KeyError(name)
        raise AttributeError(name)

    def close(self):
        self.closed += 1
        raise OSError("close broke, too")


@pytest.mark.parametrize("where", ["dozes", "hears_hidden", "worths"])
def test_what_its_states_say_of_themselves_ends_drafting_only(where: str) -> None:
    drafter = GuardedDrafter(inner := SaysOfItself(where), 3)
    state = drafter.open([0], None)
    assert inner.closed == 1
    state.commit([1], None)
    assert state.worths(2) is None
    assert drafter.propose([state, state.ahead([2])], [3, 3], [None, None]) == [NOTHING, NOTHING]
    assert drafter.fault == f"open: KeyError: '{where}'"


def test_no_more_proposals_are_made_than_are_asked_for() -> None:
    drafter = guarded(raising(ValueError("never")))
    drafter.drafter.propose = lambda states, budgets, randomness: (NOTHING for _ in count())
    state = drafter.open([*PROMPT, 0], None)
    assert drafter.propose([state], [3], [None]) == [NOTHING]
    assert drafter.fault == "propose: BadProposal: 1 texts got 2 proposals; give one each"


class CannotSayWhetherItLooksAhead(Fails):
    """A state that fails where it is asked for what it need not have."""

    @property
    def ahead(self):
        raise OSError("ahead broke")


def test_a_state_that_cannot_say_whether_it_looks_ahead() -> None:
    drafter = GuardedDrafter(CannotSayWhetherItLooksAhead(""), 3)
    state = drafter.open([0], None)
    assert drafter.propose([state], [3], [None]) == [NOTHING]
    assert drafter.propose([state.ahead([2])], [3], [None]) == [NOTHING]
    assert drafter.fault == "ahead: OSError: ahead broke"


def test_an_interruption_is_no_fault() -> None:
    drafter = guarded(raising(KeyboardInterrupt()))
    state = drafter.open([*PROMPT, 0], None)
    with pytest.raises(KeyboardInterrupt):
        drafter.propose([state], [0], [None])
    assert drafter.fault is None


class FaultyLookup:
    """prompt lookup that stops working after some rounds"""

    def __init__(self) -> None:
        from truedraw.draft.ngram import NgramDrafter

        self.inner, self.left = NgramDrafter(), 3
        self.open = self.inner.open

    def propose(self, states, budgets, randomness):
        self.left -= 1
        if not self.left:
            raise ValueError("lost the index")
        return self.inner.propose(states, budgets, randomness)


def test_what_was_noted_on_an_error_is_told() -> None:
    error = ValueError("lost the index")
    error.add_note("in a part of it")
    drafter = guarded(raising(error))
    state = drafter.open([*PROMPT, 0], None)
    assert drafter.propose([state], [0], [None]) == [NOTHING]
    assert drafter.fault == "propose: ValueError: lost the index (in a part of it)"


def test_what_is_said_in_several_lines_is_told_in_one() -> None:
    drafter = guarded(raising(ValueError("lost:\n    the index\r\n")))
    state = drafter.open([*PROMPT, 0], None)
    assert drafter.propose([state], [0], [None]) == [NOTHING]
    assert drafter.fault == "propose: ValueError: lost: the index"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setitem(BUILT_IN["drafters"], "faulty", f"{__name__}:FaultyLookup")
    with load("tabular") as model:
        yield model


def test_a_run_goes_on_and_tells(toy: Model) -> None:
    settings = {"seed": 8, "n": 2, "ignore_eos": True, "max_tokens": 40}
    plain = toy.generate(TEXT, speculative=False, **settings)
    result = toy.generate(TEXT, speculative={"method": "faulty", "adaptive": False}, **settings)
    assert [c.tokens for c in result.choices] == [c.tokens for c in plain.choices]
    assert result.fallback == "propose: ValueError: lost the index"
    assert result.to_dict()["fallback"] == result.fallback
    assert result.to_dict()["stats"]["fallbacks"] == (result.fallback,)
    assert [choice.stats.fallbacks for choice in result.choices] == [(result.fallback,)] * 2
    assert 0 < result.stats.drafted <= 2 * 2 * 7
    assert plain.fallback is None
    assert "fallback" not in plain.to_dict()
    assert toy.generate(TEXT, speculative={"method": "faulty"}, max_tokens=2).fallback is None  # one drafter a run


def test_the_command_line_tells(toy: Model, capsys) -> None:
    from truedraw.cli.main import run as command

    assert command(["generate", TEXT, "-m", "tabular", "--seed", "8", "--ignore-eos", "--speculative-config",
                    '{"method": "faulty", "adaptive": false}']) == 0  # fmt: skip
    assert "a drafter was given up, the text goes on without it: propose: ValueError: lost the index" in (
        capsys.readouterr().err
    )
