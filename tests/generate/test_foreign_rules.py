"""Rules of other packages: whatever goes wrong in one is said with its name, and none ends the program or the check."""

from __future__ import annotations

import numpy as np
import pytest

import truedraw.registry as registered
from truedraw import load
from truedraw.errors import BadParameter, TruedrawError
from truedraw.generate.fence import rule
from truedraw.protocol import Loss
from truedraw.verify.coupled import CoupledVerifier
from truedraw.verify.lossy.lenient import LenientVerifier
from truedraw.verify.token import TokenVerifier

SETTINGS = {"max_tokens": 8, "ignore_eos": True, "seed": 5}


class NeedsArgument(TokenVerifier):
    def __init__(self, licence):
        raise AssertionError


class ExitsWhenMade(TokenVerifier):
    def __init__(self):
        raise SystemExit("no licence")


class SaysOther(TokenVerifier):
    def __init__(self):
        self.exact = False


class Exits(TokenVerifier):
    def __call__(self, *given):
        raise SystemExit("no licence")


class Writes(TokenVerifier):
    def __call__(self, proposal, rows, randomness, position):
        rows[0][0] += 0.5
        return super().__call__(proposal, rows, randomness, position)


class OfOurs(CoupledVerifier):
    pass


def made_nothing():
    return None


made_nothing.exact = True


class Mild(LenientVerifier):
    def loss(self):
        found = super().loss()
        return Loss(found.rule, {"lenience": np.float64(2)}, np.int64(found.tokens), None, "", {})


class Early(Mild):
    def loss(self):
        return 1 / self.tally.tokens


class Late(Mild):
    def loss(self):
        return super().loss() if not self.tally.tokens else {}["tokens"]


def says(**changed):
    class Junk(Mild):
        def loss(self):
            given = {"rule": "junk", "settings": {}, "tokens": 0, "tv_per_token": None, "meaning": "", **changed}
            return Loss(**given)

    return Junk


EXACT = {kind.__name__: kind for kind in (NeedsArgument, ExitsWhenMade, SaysOther, Exits, Writes, OfOurs, made_nothing)}
LOSSY = {kind.__name__: kind for kind in (Mild, Early, Late)} | {
    "nothing": type("Nothing", (Mild,), {"loss": lambda self: None}),
    "text for a number": says(settings={"lenience": "much"}),
    "no settings": says(settings=[2]),
    "no count": says(tokens="all"),
    "endless": says(tv_per_token=float("nan")),
    "no meaning": says(meaning=None),
    "number": 5,
}  # fmt: skip


class Point:
    value, dist = "test", None

    def __init__(self, name, kind) -> None:
        self.name, self.load = name, lambda: kind


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {"truedraw.verifiers": EXACT, "truedraw.lossy_verifiers": LOSSY}

    def entry_points(group, name=None):
        return [Point(each, kind) for each, kind in groups.get(group, {}).items() if name in (None, each)]

    monkeypatch.setattr(registered, "entry_points", entry_points)


@pytest.mark.parametrize(("name", "said"), [
    ("NeedsArgument", "the plug-in 'NeedsArgument' cannot be made: TypeError: .*licence"),
    ("ExitsWhenMade", "the plug-in 'ExitsWhenMade' cannot be made: SystemExit: no licence"),
    ("made_nothing", "the plug-in 'made_nothing' cannot be made: TypeError: it is None; give what has `exact`"),
    ("SaysOther", "the plug-in 'SaysOther' cannot be made: TypeError: its class says that it is exact, and it says"),
])  # fmt: skip
def test_a_rule_that_cannot_be_made_is_refused_by_its_name(name, said) -> None:
    with load("tabular") as model, pytest.raises(BadParameter, match=f"rejection_sample_method: {said}"):
        model.generate("the cat", speculative={"rejection_sample_method": name})


@pytest.mark.parametrize(("name", "said"), [
    ("Exits", "the rule 'Exits': a call ended in SystemExit: no licence"),
    ("Writes", r"ValueError: assignment destination is read-only \(in test_foreign_rules.py.*Writes.__call__"),
])  # fmt: skip
def test_a_rule_ends_its_own_text_alone(name, said) -> None:
    with load("tabular") as model, model.batch() as batch:
        bad, sound = (batch.add("the cat", speculative={"rejection_sample_method": each}, **SETTINGS)
                      for each in (name, "token"))  # fmt: skip
        assert len(list(batch.completed())) == 2
        with pytest.raises(TruedrawError, match=said):
            raise bad.error
        assert sound.error is None


def test_a_plug_in_of_one_of_our_rules_decides_as_that_does() -> None:
    with load("tabular") as model:
        texts = [model.generate("the cat sat the cat", n=3, speculative={"method": "ngram", "adaptive": False,
                 "rejection_sample_method": name}, **SETTINGS) for name in ("coupled", "OfOurs")]  # fmt: skip
    assert [each.tokens for each in texts[0].choices] == [each.tokens for each in texts[1].choices]
    assert texts[1].exact


def lossy(name: str, **options):
    return rule(name, True, options)


@pytest.mark.parametrize(("name", "said"), [
    ("Early", "ZeroDivisionError"),
    ("nothing", r"TypeError: loss\(\) gave None; give a protocol.Loss"),
    ("text for a number", r"settings\['lenience'\]: got 'much'"),
    ("no settings", r"its settings are \[2\]; give names and numbers"),
    ("no count", "tokens: got 'all'"),
    ("endless", "tv_per_token: got nan"),
    ("no meaning", "its meaning is None; give a text"),
])  # fmt: skip
def test_a_loss_that_cannot_be_told_is_refused_before_anything_is_drawn(name, said) -> None:
    with pytest.raises(BadParameter, match=f"rejection_sample_method: .*the rule '{name}' cannot say .*: .*{said}"):
        lossy(name)


def test_a_loss_that_fails_behind_the_text_is_one_clear_error() -> None:
    spec = {"rejection_sample_method": "Late", "allow_lossy": True}
    with load("tabular") as model, pytest.raises(BadParameter, match="the rule 'Late' cannot say what it lost: KeyErr"):
        model.generate("the cat", speculative=spec, **SETTINGS)


def test_a_loss_of_numpys_numbers_is_told_in_pythons() -> None:
    found = lossy("Mild").loss()
    assert (type(found.tokens), type(found.settings["lenience"])) == (int, float)


def test_options_of_a_lossy_plug_in_are_numbers_and_its_class_is_one() -> None:
    with pytest.raises(BadParameter, match="lenience: got 'much'; give a number for the rule 'Late'"):
        lossy("Late", lenience="much")
    with pytest.raises(BadParameter, match="the plug-in 'number' does not say which options it has: TypeError"):
        lossy("number")
