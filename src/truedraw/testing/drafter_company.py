"""What draft states owe each other: texts that are closed, and texts in which something fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from truedraw.draft.site import close
from truedraw.errors import TruedrawError
from truedraw.protocol import Drafter, DraftState, Proposal, Scores
from truedraw.testing.drafter_faults import BROKEN_LAW, NO_CHANCE
from truedraw.testing.drafter_texts import BUDGET, Texts, legal, require_same, scores_of, unharmed

Make = Callable[[], Drafter]


def closed(make: Make, vocab: int) -> None:
    """What a text gave back may be another's by now, when it is closed again."""
    texts, calm = Texts(make(), vocab), Texts(make(), vocab)
    with unharmed("after a text was closed"):
        for each in (texts, calm):
            legal(each)
            if each is texts:
                close(each.states[0])
            each.states.append(each.drafter.open(each.texts[2], each.law))
            _legal_from(each, 1)
        close(texts.states[0])
        _require_equal_others(texts, calm, "after a text was closed twice, and when it was not")
        for each in (texts, calm):
            with suppress(TruedrawError):
                each.states[0].commit([0, 1], scores_of(Proposal.chain([0]), vocab, np.random.default_rng(14)))
        _require_equal_others(texts, calm, "after a closed text went on")
        for part in (*texts.states, *texts.states, texts.drafter, texts.drafter):
            close(part)


def _require_equal_others(texts: Texts, calm: Texts, when: str, first: int = 1) -> None:
    """Raises AssertionError where states from `first` on propose what those of `calm` do not."""
    require_same(_legal_from(calm, first), _legal_from(texts, first), when)


def _legal_from(texts: Texts, first: int) -> list[Proposal]:
    others = range(first, len(texts.states))
    found = texts.propose([BUDGET] * len(others), others)
    for proposal in found:
        texts.legal(proposal, BUDGET)
    return found


def faults(make: Make, vocab: int) -> None:
    """Whatever goes wrong in one text, the others draft as if nothing had been."""
    texts, calm = Texts(make(), vocab), Texts(make(), vocab)
    nonsense = Scores(np.full((1, vocab), np.nan, np.float32), proposal=Proposal.chain([]))
    with unharmed("after another text's fault"):
        _fail(texts, texts.states[:1])
        _require_equal_others(texts, calm, "after a draw of another text failed, and when it did not")
        _fail(texts, texts.states[:2])
        _require_equal_others(texts, calm, "after draws of other texts failed, and when they did not", 2)
        with suppress(Exception):
            _fail(texts, [texts.drafter.open(texts.texts[0], BROKEN_LAW), texts.states[1]])
        _require_equal_others(texts, calm, "after another text's law failed, and when it did not", 2)
        legal(texts)
        with suppress(Exception):
            texts.states[0].commit([0], nonsense)
        _legal_from(texts, 1)


def _fail(texts: Texts, states: list[DraftState]) -> None:
    with suppress(Exception):
        texts.drafter.propose(states, [BUDGET] * len(states), [NO_CHANCE] * len(states))
