"""Rounds of one text that is alone: all pages that they need are taken before, and the text is told at the end."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Seq
from typing import Any

from truedraw.engine.paged.pages import Claim
from truedraw.engine.paged.runs import RunsAlong
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.engine.trees import is_chain
from truedraw.errors import EngineError, OutOfPages
from truedraw.protocol import PassJob, Proposal, Scores


class PagedStride:
    """protocol.Stride, for so many `drafts` a round at most.

    `chain`: the text as the runner has it; `forward`: a pass over a proposal of any shape, behind the text as it stands
    then.
    """

    def __init__(
        self, sequence: PagedSequence, drafts: int, runner: RunsAlong, chain: Any, forward: Callable[[Proposal], Scores]
    ) -> None:
        self._sequence, self._drafts, self._forward = sequence, drafts, forward
        self._runner, self._chain = runner, chain
        self._past = len(sequence.tokens) - 1
        self.rows = 0
        self._kept: list[int] = []  # that the text does not have yet
        self._is_told = False  # from a tree on: what is kept of it may be computed again, and lie in other pages
        sequence.uncertain()

    def score(self, proposal: Proposal) -> Scores:
        """See Stride; raises EngineError for a longer chain, or tokens that do not exist."""
        if len(proposal) > self._drafts:
            raise EngineError(f"a chain of {len(proposal)} drafts at a stride of {self._drafts}; score no more")
        if self._is_told or not is_chain(proposal):
            self.end()
            self._is_told = True
            self.rows = self._sequence.num_uncached + len(proposal)
            return self._forward(proposal)
        last = self._kept[-1] if self._kept else self._sequence.tokens[-1]
        drafts = proposal.tokens.tolist()
        self._sequence.check_tokens(drafts)
        self.rows = 1 + len(proposal)
        logits, hidden = self._runner.along(self._chain, self._past, (last, *drafts))
        return Scores(logits, hidden)

    def job(self, drafts: int) -> PassJob | None:
        """See KeepsPasses; none behind a tree, which may have changed the pages."""
        return None if self._is_told else self._runner.job(self._chain, 1 + drafts)

    def keep(self, tokens: Seq[int]) -> None:
        """See Stride."""
        self._past += len(tokens)
        if self._is_told:
            self._sequence.commit(tokens)
        else:
            self._kept += tokens

    def end(self) -> None:
        """See Stride: as if what was kept had been drafted in one pass, and all of it accepted."""
        sequence, kept = self._sequence, self._kept
        if kept:
            sequence.computed(len(sequence.tokens), kept[:-1])
            sequence.commit(kept)
            self._kept = []


def has_pages(sequences: Seq[PagedSequence], tokens: Seq[int]) -> bool:
    """Takes what so many more tokens of each need, and says whether it was there."""
    ends = [(each, len(each.tokens), more) for each, more in zip(sequences, tokens, strict=True)]
    try:
        sequences[0].pool.reserve([Claim(each.pages, length - 1, length + more) for each, length, more in ends])
    except OutOfPages:
        return False
    return True
