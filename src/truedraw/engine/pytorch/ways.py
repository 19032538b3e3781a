"""Which of the two ways to compute rows (passes.py) each text is computed by, and what is kept of it then."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import cast

from truedraw.engine.pytorch.parts import Found, Part
from truedraw.engine.pytorch.passes import CachedPasses, ReplayedPasses
from truedraw.engine.pytorch.sequence import TorchSequence
from truedraw.engine.trees import height
from truedraw.protocol import NOTHING, Fill, Proposal, Scores, Work

CHUNK_ROWS = 256  # of a long text that are computed in one pass
LONG_ROWS = 16  # a text with more uncached tokens is computed ahead of the pass, so that others need no padding for it


class Ways:
    """Texts of up to `reach` tokens share batches over what is kept of them; longer ones are computed each alone."""

    def __init__(self, cached: CachedPasses, replayed: ReplayedPasses, reach: int) -> None:
        self._cached, self._replayed, self.reach = cached, replayed, reach

    def run(self, works: Seq[Work], fills: Seq[Fill]) -> list[Scores]:
        """The scores of all works in one pass; fills and what is long come before."""
        for fill in fills:
            self._compute(own(fill), end(fill))
        for work in works:
            if work.sequence.num_uncached > LONG_ROWS:
                self._compute(own(work), len(work.sequence.tokens) - 1)
        return self._scored([Part(own(work), len(work.sequence.tokens), work.proposal) for work in works])

    def held(self, works: Seq[Work], fills: Seq[Fill]) -> dict[TorchSequence, int]:
        """Rows that each text of a pass holds behind it."""
        wanted = {}
        for work in works:
            length = len(work.sequence.tokens)
            wanted[own(work)] = length + len(work.proposal) if self._keeps(length, work.proposal) else 0
        for fill in fills:
            wanted[own(fill)] = end(fill) if self._keeps(end(fill)) else 0
        return wanted

    def _scored(self, parts: Seq[Part]) -> list[Scores]:
        """Those that can stand in one batch together, then the others."""
        scores: dict[int, Scores] = {}
        for passes, wanted in ((self._cached, True), (self._replayed, False)):
            chosen = [n for n, part in enumerate(parts) if self._keeps(part.end, part.proposal) is wanted]
            found = cast(list[Found], passes.run([parts[n] for n in chosen]))  # every one wants scores
            for n, (logits, hidden) in zip(chosen, found, strict=True):
                scores[n] = Scores(logits, hidden, text=parts[n].sequence.shown.tell())
        return [scores[n] for n in range(len(parts))]

    def _compute(self, sequence: TorchSequence, upto: int) -> None:
        if not self._keeps(upto):
            self._replayed.run([Part(sequence, upto, scored=False)])
            return
        while (done := sequence.num_past) < upto:
            self._cached.run([Part(sequence, min(upto, done + CHUNK_ROWS), scored=False)])

    def _keeps(self, length: int, proposal: Proposal = NOTHING) -> bool:
        """Whether a text of so many tokens can be computed over what is kept of it."""
        return length + height(proposal) <= self.reach


def own(asked: Work | Fill) -> TorchSequence:
    """The text, which the engine has opened."""
    return cast(TorchSequence, asked.sequence)


def end(fill: Fill) -> int:
    """Tokens of the text that are computed behind it."""
    return len(fill.sequence.tokens) - fill.sequence.num_uncached + fill.count
