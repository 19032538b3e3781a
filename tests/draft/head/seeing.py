"""A target that shows what it knows, and a head over tables that reads it: every law of a head can be written down.

The target's hidden states of a row are the last two tokens of the row's text, one-hot, in two streams. The head's state
is the token before the last one, one-hot; it says log q(token | the last two tokens), from a table, of the tokens that
it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from draft.given_trees import Given, size
from enumeration import law_of
from known_laws import Scenario, lookup, random_table, text_law
from truedraw.control.fixed import FixedController
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.loop import rounds
from truedraw.generate.sample import Together
from truedraw.protocol import ROOT, Proposal, Scores
from truedraw.registry import find
from truedraw.testing.runs import parts_of, run, started

PROMPT = (0, 1, 0)
ENDLESS = 60  # tokens: no round of a test meets the limit
ROUNDING, VISIBLE = 1e-12, 0.003
TARGET = random_table(3, 1, 41)
SAYS = random_table(3, 2, 42)  # what the head says, before it is cut to the tokens that it knows
KNOWN = {"all": (0, 1, 2), "two of three": (0, 2)}


def features(text: Sequence[int], vocab: int) -> np.ndarray:
    """[2, vocab] of a row behind this text."""
    found = np.zeros((2, vocab), np.float32)
    for stream, token in enumerate(list(text)[:-3:-1]):
        found[stream, token] = 1.0
    return found


class SeeingEngine(TabularEngine):
    """Returns hidden states with its scores."""

    def forward(self, works, fills=()):
        found = super().forward(works, fills)
        return [Scores(each.logits, self._hidden(work)) for each, work in zip(found, works, strict=True)]

    def _hidden(self, work) -> np.ndarray:
        texts = [tuple(work.sequence.tokens)]
        for token, parent in zip(work.proposal.tokens.tolist(), work.proposal.parents.tolist(), strict=True):
            texts.append((*texts[0 if parent == ROOT else 1 + parent], token))
        return np.stack([features(text, self.vocab_size) for text in texts])


class TableCell:
    """draft.head.cell.Cell; what it returned is overwritten by its next call, as may be."""

    def __init__(self, table=SAYS, tokens=KNOWN["two of three"], dtype=np.float64) -> None:
        self.tokens, self.table, self.dtype = np.array(tokens, np.int64), table, dtype
        self.calls: list[int] = []
        self._board = np.zeros((64, 2, max(len(table[()]), len(self.tokens))), dtype)

    def begin(self, given, last):
        assert given.shape[1:] == (2, len(self.table[()]))
        return self._said(given[:, 0].argmax(1), last)  # the row's last token is the one before the last of the text

    def step(self, states, tokens):
        return self._said(states.argmax(1), tokens)

    def _said(self, before, tokens):
        assert len(before) == len(tokens) >= 1
        self.calls.append(len(tokens))
        vocab = len(self.table[()])
        states, logits = self._board[: len(tokens), 0, :vocab], self._board[: len(tokens), 1, : len(self.tokens)]
        states[:] = np.eye(vocab)[tokens]
        pairs = zip(before.tolist(), tokens.tolist(), strict=True)
        logits[:] = np.log([[lookup(self.table, pair)[known] for known in self.tokens] for pair in pairs])
        return states, logits


def head(shape, tokens=KNOWN["two of three"], kind=HeadDrafter, table=SAYS, **more) -> HeadDrafter:
    """A head over tables whose proposals have this shape."""
    return kind.over(TableCell(table, tokens), Given(shape), len(table[()]), **more)


def case(shape=(), params=None, target=TARGET) -> Scenario:
    return Scenario("seeing", target, {}, params or {}, draft_tokens=size(shape), max_tokens=ENDLESS)


def text_of(scenario, walker, rule, drafter, count=2) -> tuple[int, ...]:
    """What so many rounds write; in the first one a head has seen nothing yet, and drafts nothing."""
    engine = SeeingEngine(scenario.target)
    sample = started(parts_of(scenario, find("verifiers", rule)(), drafter), scenario, walker, 0, engine, PROMPT)
    steps = rounds(engine, FixedController(scenario.draft_tokens), Together([sample]))
    return tuple(token for _ in range(count) for token in next(steps)[0].tokens)


def law_of_rounds(scenario, make, rule="traversal", count=2, **walking):
    """The exact law of so many rounds, gone on with by the target to one length, and that of the target.

    Every branch has a drafter of its own.
    """
    law = law_of(lambda walker: text_of(scenario, walker, rule, make(), count), **walking)
    length = max(map(len, law))
    filled: dict[tuple[int, ...], float] = {}
    for tokens, weight in law.items():
        rest = replace(scenario, max_tokens=length - len(tokens))
        for more, chance in text_law(rest, (*PROMPT, *tokens)).items():
            filled[tokens + more] = filled.get(tokens + more, 0.0) + weight * chance
    return filled, text_law(replace(scenario, max_tokens=length), PROMPT)


def law_of_text(scenario, make, rule="traversal", n=1, watch=None, **walking):
    """The exact law of whole texts; every branch has a drafter of its own, which starts with nothing known."""

    def texts(walker):
        drafter = make()
        found = run(scenario, walker, find("verifiers", rule)(), drafter, SeeingEngine(scenario.target), n, PROMPT)
        if watch is not None:
            watch.append(drafter)
        return found[0] if n == 1 else found

    return law_of(texts, **walking)


def seen(drafter, text, law):
    """A state that has just seen the target's states: the text's last token was drawn from the row before it."""
    state = drafter.open(text[:1], law)
    for place in range(1, len(text)):
        state.commit([text[place]], Scores(np.zeros((1, 3)), features(text[:place], 3)[None], Proposal.chain(())))
    return state


def show(state, text, vocab) -> None:
    """The row that the text's last token was drawn from."""
    state.rows.features, state.rows.tokens = features(text[:-1], vocab)[None], [text[-1]]


class Fed(HeadDrafter):
    """Its states are shown what the target would show, whoever writes the text."""

    def open(self, tokens, law):
        state, text = super().open(tokens, law), list(tokens)
        commit, vocab = state.commit, self._reading.vocab_size
        show(state, text, vocab)

        def fed(more, scores=None):
            commit(more, scores)
            text.extend(more)
            show(state, text, vocab)

        state.commit = fed
        return state
