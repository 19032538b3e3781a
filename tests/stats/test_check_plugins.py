"""A plug-in that nobody named fails by its name in a certificate, and all that is not its own goes on."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from types import SimpleNamespace

import pytest

import truedraw.registry as registered
from truedraw import Speculation, load
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.none import NoDrafter
from truedraw.errors import BadParameter, TruedrawError
from truedraw.protocol import Proposal
from truedraw.registry import BUILT_IN
from truedraw.stats.check import Settings, Subject, beside, check, enumerated, quick
from truedraw.stats.check.enumerated import SHORT, enumeration, refuse_stuck
from truedraw.stats.check.records import Finding
from truedraw.testing.scenarios import Scenario
from truedraw.testing.trees import SHAPES, TREES
from truedraw.verify.token import TokenVerifier

HELD = Event()
LIMIT, LONGEST = 2, 20  # seconds: what a call may take, busy machines included, and what one takes that hangs


class NeedsArgument(TokenVerifier):
    def __init__(self, licence):
        raise AssertionError


class Nothing(TokenVerifier):
    def __call__(self, *given):
        return None


class Exits(TokenVerifier):
    def __call__(self, *given):
        raise SystemExit("no licence")


class CannotBeMade(NoDrafter):
    def __init__(self):
        raise RuntimeError("no licence")


class CannotBegin(NoDrafter):
    def open(self, tokens, law):
        raise KeyError("text")


class Leaves(NoDrafter):
    def propose(self, states, budgets, randomness):
        raise SystemExit


class Junk(NoDrafter):
    def propose(self, states, budgets, randomness):
        return [None for _ in states]


class Outside(NoDrafter):
    def propose(self, states, budgets, randomness):
        return [Proposal.chain([99]) for _ in states]


class NeverReturns(NoDrafter):
    def propose(self, states, budgets, randomness):
        HELD.wait(LONGEST)


class NeverDecides(TokenVerifier):
    def __call__(self, *given):
        HELD.wait(LONGEST)


class Sound(NgramDrafter):
    pass


RULES = (NeedsArgument, Nothing, Exits, NeverDecides)
DRAFTERS = (CannotBeMade, CannotBegin, Leaves, Junk, Outside, NeverReturns, Sound)
SAID = {
    "NeedsArgument": "the plug-in 'NeedsArgument' failed: .* cannot be made: TypeError: .*licence",
    "Nothing": "the plug-in 'Nothing' failed: the rule 'Nothing' gave None; give a Verdict",
    "Exits": "the plug-in 'Exits' failed: the rule 'Exits': a call ended in SystemExit: no licence",
    "NeverDecides": r"the plug-in 'NeverDecides' raised TimeoutError: a call has not returned within 2 s \(",
    "drafter NeverReturns": r"the plug-in 'NeverReturns' raised TimeoutError: a call has not returned within 2 s \(",
    "drafter CannotBeMade": r"raised RuntimeError: no licence \(in test_check_plugins.py, line .*, CannotBeMade",
    "drafter CannotBegin": "the plug-in 'CannotBegin' raised KeyError: 'text'",
    "drafter Leaves": "the plug-in 'Leaves' raised RuntimeError: a call ended in SystemExit",
    "drafter Junk": "the plug-in 'Junk' ",
    "drafter Outside": "the plug-in 'Outside' failed: draft node 0 is token 99",
}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few laws, and two built-in rules: one for trees and one for chains."""
    for name, value in {"SHAPES": SHAPES[:1], "TREES": TREES[:1], "SHORT": SHORT[:2]}.items():
        monkeypatch.setattr(enumerated, name, value)
    monkeypatch.setattr(beside, "SECONDS", LIMIT)
    rules = {name: BUILT_IN["verifiers"][name] for name in ("traversal", "token")}
    monkeypatch.setitem(BUILT_IN, "verifiers", rules)


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    groups = {"truedraw.verifiers": RULES, "truedraw.drafters": DRAFTERS}

    def entry_points(group, name=None):
        points = [SimpleNamespace(name=kind.__name__, value="test", load=lambda kind=kind: kind)
                  for kind in groups.get(group, ())]  # fmt: skip
        return [each for each in points if name in (None, each.name)]

    monkeypatch.setattr(registered, "entry_points", entry_points)
    HELD.clear()
    yield
    HELD.set()


def test_a_plugin_that_raises_a_timeout_of_its_own_has_returned() -> None:
    own = Finding("drafter ngram", False, "the plug-in 'ngram' raised TimeoutError: no answer of the server (in a.py)")
    refuse_stuck(Speculation(method="ngram"), [own])


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(("named", "parameter"), [
    ({"rejection_sample_method": "NeverDecides"}, "rejection_sample_method"), ({"method": "NeverReturns"}, "method"),
])  # fmt: skip
def test_a_part_that_is_named_and_never_returns_ends_the_check(monkeypatch, named, parameter) -> None:
    kept = {"NeverDecides", "traversal"}
    monkeypatch.setattr(enumerated, "usable_names", lambda kind: kept)
    with load("tabular") as model:
        subject = Subject(model, model.params(), Speculation(**named), [[1, 2]])
        with pytest.raises(BadParameter, match=rf"^{parameter}: the plug-in .* has not returned within 2 s .*further"):
            check(subject, quick(Settings()))


@pytest.mark.usefixtures("plugins")
def test_each_broken_plug_in_has_a_finding_of_its_own() -> None:
    found = {each.name: each for each in enumeration(False)}
    assert {*found} == {"traversal", "token", *SAID}
    assert all(found[name].passed for name in ("traversal", "token"))
    assert found["traversal"].figures["laws"] > 2
    for name, said in SAID.items():
        assert found[name].passed is False
        with pytest.raises(TruedrawError, match=said):
            raise TruedrawError(found[name].says)


def test_a_built_in_part_that_fails_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TokenVerifier, "__call__", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        enumeration(False)


class Interrupts(NoDrafter):
    def propose(self, states, budgets, randomness):
        raise KeyboardInterrupt


def test_ctrl_c_is_no_fault_of_a_plug_in() -> None:
    rule, scenario = TokenVerifier(), SHORT[0]
    assert isinstance(scenario, Scenario)
    with pytest.raises(KeyboardInterrupt):
        enumerated._tried("interrupts", rule, Interrupts, scenario, {})
