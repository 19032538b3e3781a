"""A check of an engine: anything may be done in any order, and every row is what it would be alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from truedraw.protocol import Fill, Proposal, Sequence, Work
from truedraw.testing.bench import Bench, Rows, woven_tree
from truedraw.testing.checks import require

STEPS = 40
MOST_TEXTS = 5
ACTIONS = ("open", "fork", "evict", "close", "run", "run", "run", "run")


def check(bench: Bench) -> None:
    """Opens, forks, evictions, closes, and passes with drafts and fills, in an order without a plan."""
    with bench.elsewhere() as rows:
        history = _History(bench, rows, np.random.default_rng(11))
        for _ in range(STEPS):
            history.step()
        for sequence in history.texts:
            sequence.close()


@dataclass(slots=True)
class _History:
    """The texts that are open, and what they should hold."""

    bench: Bench
    rows: Rows
    rng: np.random.Generator
    texts: dict[Sequence, list[int]] = field(default_factory=dict)

    def step(self) -> None:
        action = ACTIONS[self.rng.integers(len(ACTIONS))]
        if action == "run":
            self.run()
        elif action == "open" or not self.texts:
            self.open()
        else:
            self.change(action, list(self.texts)[self.rng.integers(len(self.texts))])
        for sequence, text in self.texts.items():
            require(list(sequence.tokens) == text, "a text has other tokens than it was given")

    def open(self) -> None:
        """Most of them begin alike."""
        if len(self.texts) < MOST_TEXTS:
            text = self.bench.text(80, seed=int(self.rng.integers(2)))
            text = text[: int(self.rng.integers(1, len(text) + 1))]
            self.texts[self.bench.engine.open(text)] = text

    def change(self, action: str, sequence: Sequence) -> None:
        text = self.texts[sequence]
        if action == "evict":
            sequence.evict()
        elif action == "close":
            sequence.close()
            del self.texts[sequence]
        elif len(self.texts) < MOST_TEXTS and self.bench.engine.fits([Work(sequence)]):
            (twin,) = self.bench.engine.fork(sequence, 1)
            self.texts[twin] = list(text)

    def run(self) -> None:
        """A pass over some of the texts, if there is room for it."""
        works, fills = [], []
        for sequence in self.texts:
            left, choice = sequence.num_uncached - 1, self.rng.random()
            if left and choice < 0.4:
                fills.append(Fill(sequence, int(self.rng.integers(1, left + 1))))
            elif choice < 0.9:
                works.append(Work(sequence, self.proposal()))
        if self.bench.engine.fits(works, fills):
            found = [each.logits.copy() for each in self.bench.engine.forward(works, fills)]
            require(len(found) == len(works), f"{len(works)} works gave {len(found)} scores")
            for work, logits in zip(works, found, strict=True):
                text = self.texts[work.sequence]
                self.bench.require_equal(logits, self.rows(text, work.proposal), f"a text of {len(text)} tokens")
                self.commit(work)

    def proposal(self) -> Proposal:
        if self.rng.random() < 0.4:
            return woven_tree(self.bench.engine.vocab_size)
        return Proposal.chain(self.rng.integers(0, self.bench.engine.vocab_size, self.rng.integers(0, 4)))

    def commit(self, work: Work) -> None:
        """Some of the drafts, or other tokens, or nothing; short of the context's end."""
        tokens = work.proposal.tokens[: self.rng.integers(0, len(work.proposal) + 1)].tolist()
        tokens += self.rng.integers(0, self.bench.engine.vocab_size, self.rng.integers(0, 2)).tolist()
        text = self.texts[work.sequence]
        if len(text) + len(tokens) + len(ACTIONS) <= self.bench.engine.context_length:
            work.sequence.commit(tokens)
            text += tokens
