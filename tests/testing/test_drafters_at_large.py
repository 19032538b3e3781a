"""Drafters over more tokens than can be enumerated: every registered one, here or beside its own tests."""

from __future__ import annotations

import string

import pytest

from draft.eagle.test_eagle_exact import Fed as FedEagle
from draft.eagle.test_eagle_exact import TableNetwork
from draft.head.seeing import Fed, TableCell
from draft.other_tokens import Site, letters
from truedraw.draft.eagle.drafter import EagleDrafter
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head_ngram import HeadNgramDrafter
from truedraw.draft.mix import MixDrafter
from truedraw.draft.model import ModelDrafter
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.ngram_lm import NgramLMDrafter
from truedraw.draft.ngram_lm_texts import CountedTexts
from truedraw.draft.none import NoDrafter
from truedraw.draft.several import SeveralDrafters
from truedraw.draft.siblings import Settled
from truedraw.draft.staged import StagedDrafter
from truedraw.draft.string_match import StringMatchDrafter
from truedraw.draft.suffix import SuffixDrafter
from truedraw.draft.tli import TliDrafter
from truedraw.draft.trees import Trees
from truedraw.engine.tabular import TabularEngine
from truedraw.registry import names
from truedraw.testing import drafter_checks
from truedraw.testing.drafter_states import state_checks
from truedraw.testing.drafter_statistics import large_table, statistics_checks

CONTEXT = 48  # of a model that drafts: texts of the suite outgrow it
LETTERS = string.ascii_letters
VOCAB = len(LETTERS)
TARGET = letters(LETTERS)
OTHER = letters(["ab", *reversed(LETTERS[:-9]), *string.digits], ["a+b"])
"""Has most letters of the target, in another order."""


def model() -> ModelDrafter:
    return ModelDrafter(engine(VOCAB))


def engine(vocab: int) -> TabularEngine:
    return TabularEngine(large_table(vocab, 31), context_length=CONTEXT)


def other(kind):
    return kind(site(), "small")


def site() -> Site:
    made = Site(TARGET, OTHER, large_table(OTHER.vocab_size, 31))
    made.model = engine(OTHER.vocab_size)
    return made


def head(kind=Fed) -> HeadDrafter:
    cell = TableCell(large_table(VOCAB, 31), range(0, VOCAB, 2))
    return kind.over(cell, Trees(Settled((0.5, 0.4, 0.3)), 4), VOCAB)


def eagle(kind=FedEagle) -> EagleDrafter:
    return kind.over(TableNetwork(), Trees(Settled((0.5, 0.3)), 4), 3)


def inner(config):
    name = config if isinstance(config, str) else config["method"]
    return {"suffix": SuffixDrafter, "ngram": NgramDrafter, "model": model, "ngram-lm": lambda: NgramLMDrafter(VOCAB)}[
        name
    ]()


LARGE = {
    "auto": lambda: SeveralDrafters(inner),
    "none": NoDrafter,
    "head": head,
    "head-ngram": lambda: HeadNgramDrafter.over(
        head(), CountedTexts(VOCAB, order=4, path="", online="text", models=None), None
    ),
    "tli": lambda: other(TliDrafter),
    "string-match": lambda: other(StringMatchDrafter),
    "mix": lambda: MixDrafter(inner, sources=["ngram", "model", "ngram-lm"]),
}
SHORT_OF_ROOM = {
    "model": model,
    "staged": lambda: StagedDrafter(engine(VOCAB), lambda config: NgramDrafter()),
    "tli": LARGE["tli"],
    "string-match": LARGE["string-match"],
}
UNSEEING = {"head": lambda: (head(HeadDrafter), VOCAB), "eagle": lambda: (eagle(EagleDrafter), 3)}
"""The engine shows them no hidden states."""
BESIDE = {"ngram", "suffix", "ngram-lm", "prediction", "recycle", "lookahead", "model", "early-exit", "quantised-self",
          "staged"}  # fmt: skip
"""Their own tests run the suite over 50 tokens or 1000."""
OF_THREE = {"eagle", "mtp"}
"""Their networks of tests have three tokens, which are enumerated."""


@pytest.mark.parametrize(
    "check", [pytest.param(c, id=f"{name}: {c}") for name, make in LARGE.items() for c in drafter_checks(make, VOCAB)]
)
def test_large_vocabularies(check) -> None:
    check()


@pytest.mark.parametrize("name", SHORT_OF_ROOM)
def test_texts_that_outgrow_the_model_that_drafts(name) -> None:
    for check in state_checks(SHORT_OF_ROOM[name], VOCAB, CONTEXT):
        check()


@pytest.mark.parametrize("name", UNSEEING)
def test_scores_without_hidden_states(name) -> None:
    for check in state_checks(lambda: UNSEEING[name]()[0], UNSEEING[name]()[1]):
        check()


@pytest.mark.parametrize("check", statistics_checks(eagle, 3), ids=str)
def test_an_eagle_draft_of_three_tokens(check) -> None:
    check()


def test_every_registered_drafter_is_looked_at() -> None:
    assert set(names("drafters")) == {*LARGE, *BESIDE, *OF_THREE}
