"""Engines whose rounds at a stride are not those that come one by one: the suite sees it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testing.failures import failures
from truedraw.engine.tabular import TabularEngine
from truedraw.protocol import Scores, Work
from truedraw.testing import engine_checks, random_table

TABLE = random_table(4, 2, 1)
HAIR = 1 + 1e-9
EACH = {"rounds at a stride", "a single round at a stride", "a stride that is filled"}


class Stride:
    """Through a fork of the text."""

    def __init__(self, engine, sequence, most: int) -> None:
        self.engine, self.sequence, self.most = engine, sequence, most
        (self.twin,) = engine.fork(sequence, 1)
        self.rounds = self.rows = 0

    def score(self, proposal) -> Scores:
        self.rows = 1 + len(proposal)
        return self.engine.forward([Work(self.twin, proposal)])[0]

    def keep(self, tokens) -> None:
        self.rounds += 1
        self.twin.commit(tokens)

    def end(self) -> None:
        self.sequence.commit(self.twin.tokens[len(self.sequence.tokens) :])


class WrongFromTheThirdRoundOn(Stride):
    def score(self, proposal):
        scores = super().score(proposal)
        return replace(scores, logits=scores.logits * (HAIR if self.rounds >= 2 else 1))


class WrongAlone(Stride):
    def score(self, proposal):
        scores = super().score(proposal)
        return replace(scores, logits=scores.logits * (HAIR if self.most == 4 else 1))


class FullATokenTooSoon(Stride):
    def score(self, proposal):
        scores = super().score(proposal)
        length = len(self.twin.tokens) - len(self.sequence.tokens) + 1 + len(proposal)
        return replace(scores, logits=scores.logits * (HAIR if length == self.most else 1))


class LosesTheLastToken(Stride):
    def end(self):
        self.sequence.commit(self.twin.tokens[len(self.sequence.tokens) : -1])


class TellsAtOnce(Stride):
    def keep(self, tokens):
        super().keep(tokens)
        self.sequence.commit(tokens)

    def end(self):
        pass


class DoesNotCount(Stride):
    def score(self, proposal):
        scores = super().score(proposal)
        del self.rows
        return scores


class CountsOneText(Stride):
    def score(self, proposal):
        scores = super().score(proposal)
        self.rows = 1
        return scores


class SwapsWhatItKeeps(Stride):
    def keep(self, tokens):
        super().keep(tokens[::-1])


def checks(kind):
    class Engine(TabularEngine):
        def stride(self, sequence, tokens, drafts):
            return kind(self, sequence, tokens)

    return engine_checks(lambda: Engine(TABLE, context_length=64))


def test_one_that_is_right() -> None:
    assert not failures(checks(Stride), AssertionError)


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        (WrongFromTheThirdRoundOn, {"rounds at a stride"}),
        (WrongAlone, {"a single round at a stride"}),
        (FullATokenTooSoon, {"a stride that is filled"}),
        (LosesTheLastToken, EACH),
        (SwapsWhatItKeeps, EACH),
        (DoesNotCount, EACH),
        (CountsOneText, EACH),
        (TellsAtOnce, {"a stride that is dropped"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_one_is_seen(kind, seen) -> None:
    assert set(failures(checks(kind), AssertionError)) == seen
