"""Known bugs around a law that knows its text, each as a small change to production code. The oracle must catch all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from unittest.mock import patch

import numpy as np

from enumeration import Walker
from generate.runs import run
from known_laws import Scenario
from truedraw.generate.rows import LawRows
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.step import Fixed, Opening
from truedraw.sampling.steps import STEPS
from truedraw.sampling.xtc import Xtc


@dataclass(frozen=True)
class LawMutant:
    """Production classes replaced while a scenario runs: rows of a round, the step XTC, the target's law."""

    name: str
    caught_in: str  # the scenario that shows it
    rows: type[LawRows] = LawRows
    patches: dict[str, object] = field(default_factory=dict)
    verifier: str = "token"

    def run(self, scenario: Scenario, walker: Walker, prompt: Sequence[int]) -> tuple[int, ...]:
        with ExitStack() as stack, np.errstate(divide="ignore"):
            for where, what in {"truedraw.generate.judging.LawRows": self.rows, **self.patches}.items():
                stack.enter_context(patch(where, what))
            return run(scenario, walker, find("verifiers", self.verifier)(), prompt=prompt)[0]

    def __str__(self) -> str:
        return self.name


class FrozenOverTheWindow(LawRows):
    """All rows of a round use the law of its first: penalties do not see the drafted tokens."""

    def _law(self, row):
        return self._laws[0]

    def law_after(self, tokens):
        law = self._laws[0]
        for row, token in zip(self._rows_of(tokens), tokens, strict=True):
            law = law.after(token, self[row])
        return law


class KeepsRejectedDrafts(LawRows):
    """The history holds every token that was drafted, as does a counter that nobody rolls back."""

    def law_after(self, tokens):
        law = self._laws[0]
        for token in self._proposal.tokens.tolist()[: max(0, len(self._proposal) - len(tokens) + 1)]:
            law = law.after(token)
        for row, token in zip(self._rows_of(tokens), tokens, strict=True):
            law = law.after(token, self[row])
        return law


class WithoutP(LawRows):
    """Laws that carry their p on never hear of it: mirostat's mu stands still."""

    def _law(self, row):
        if row not in self._laws:
            above = 1 + int(self._proposal.parents[row - 1])
            self._laws[row] = self._law(above).after(int(self._proposal.tokens[row - 1]))
        return self._laws[row]

    def law_after(self, tokens):
        return self._law(self._rows_of(tokens)[-1]).after(tokens[-1])


def without(law: SamplingLaw, *kinds: str) -> SamplingLaw:
    """The same law with some of its steps left out."""
    bare = SamplingLaw.__new__(SamplingLaw)
    bare._steps = tuple(step for step in law._steps if type(step).__name__ not in kinds)
    bare._moves, bare._names, bare._order, bare.fused = law._moves, law._names, law._order, None
    return bare


class TargetWithoutPenalties(LawRows):
    """The penalties are applied on the draft's side only."""

    def __init__(self, law, proposal, scores, draws):
        super().__init__(without(law, "Penalties"), proposal, scores, draws)
        self._whole = law

    def law_after(self, tokens):
        law = self._whole
        for token in tokens:
            law = law.after(token)
        return law


class MinP(Fixed):
    """min_p as a step that can be told from the others."""


def min_p(params, opening):
    step = STEPS["min_p"](params, opening)
    return step and MinP(step.change)


class TargetWithoutMinP(LawRows):
    """min_p is honoured in plain rounds and by the drafter, and ignored where a draft is verified."""

    def __init__(self, law, proposal, scores, draws):
        super().__init__(without(law, "MinP") if len(proposal) else law, proposal, scores, draws)
        self._whole = law

    def law_after(self, tokens):
        return self._whole


class BonusRowWithoutMask(LawRows):
    """The row after the last draft is not masked."""

    def _law(self, row):
        law = super()._law(row)
        unmasked = row == len(self._proposal) > 0
        return without(law, "NoRepeatNgram", "BadWords", "MinTokens") if unmasked else law

    def law_after(self, tokens):
        law = self._laws[0]
        for row, token in zip(self._rows_of(tokens), tokens, strict=True):
            law = law.after(token, self[row])
        return law


class UncachedRows(LawRows):
    """Every visit of a row computes it anew: harmless in itself."""

    def __getitem__(self, row):
        return self._law(row)(self._logits[row])


class CoinOfTheVisit(Xtc):
    """XTC's coin is tossed at every look."""

    def __call__(self, row):
        visits = self.randomness.__dict__.setdefault("visits", [])
        visits.append(None)
        tossed = replace(self, randomness=_Renamed(self.randomness, len(visits)))
        Xtc.__call__(tossed, row)


class _Renamed:
    def __init__(self, randomness, visit):
        self._randomness, self._visit = randomness, visit

    def accept(self, p, q, purpose, position, node=0):
        return self._randomness.accept(p, q, purpose, position, self._visit)


class CoinOfTheText(Xtc):
    """One coin for the whole text."""

    def after(self, token, p):
        return self


class WithoutPrompt(SamplingLaw):
    """The law starts at an empty text."""

    __slots__ = ()

    def __init__(self, params, opening=None):
        super().__init__(params, replace(opening, prompt=()) if opening else Opening())


MIN_P = {"truedraw.sampling.steps.STEPS": {**STEPS, "min_p": min_p}}
MUTANTS = [
    LawMutant("penalties frozen over the window", "frequency and presence", FrozenOverTheWindow),
    LawMutant("repetitions frozen over the window", "repetition", FrozenOverTheWindow),
    LawMutant("n-grams frozen over the window", "trigrams once, warm", FrozenOverTheWindow),
    LawMutant("the schedule frozen over the window", "cooling", FrozenOverTheWindow),
    LawMutant("penalties on the draft's side only", "repetition", TargetWithoutPenalties),
    LawMutant("min_p ignored", "only the likely", TargetWithoutMinP, MIN_P),
    LawMutant("no mask on the bonus row", "bad words", BonusRowWithoutMask),
    LawMutant("no end too early, but on the bonus row", "a late end", BonusRowWithoutMask),
    LawMutant("a coin a visit", "a short text", UncachedRows, {"truedraw.sampling.xtc.Xtc": CoinOfTheVisit}, "block"),
    LawMutant("a coin for all", "choices left out", patches={"truedraw.sampling.xtc.Xtc": CoinOfTheText}),
    LawMutant("history keeps rejected drafts", "frequency and presence", KeepsRejectedDrafts),
    LawMutant("mu never moves", "mirostat", WithoutP),
    LawMutant("the prompt does not count", "repetition", patches={"truedraw.testing.runs.SamplingLaw": WithoutPrompt}),
]
