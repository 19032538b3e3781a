"""What a head's drafter knows of one text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw.draft.head.known_rows import KnownRows
from truedraw.draft.head.reading import Reading
from truedraw.draft.head.refit.round import Seen
from truedraw.draft.tempering import OwnLaw
from truedraw.draft.trees import TreesOfText
from truedraw.protocol import Logits, Proposal, Scores
from truedraw.sampling.transform import Transform, counted


class HeadState:
    """protocol.DraftState: what the target knew when it drew the last tokens, these tokens, and the law behind them."""

    dozes = True  # see protocol.Dozes

    def __init__(self, length: int, law: OwnLaw, rows: KnownRows, trees: TreesOfText) -> None:
        self.length, self.law, self.rows = length, law, rows
        self.drafted: Proposal | None = None
        self.trees = trees
        self.seen: Seen | None = None  # of the round, where a head goes on learning
        self._said: tuple[Reading, Logits] | None = None  # behind the text, where that is to be learnt from

    def worths(self, nodes: int) -> Sequence[tuple[float, int]] | None:
        """protocol.Shapes: tokens that each of so many nodes is worth, and its level."""
        return self.trees.worths(nodes)

    def hear(self, reading: Reading, logits: Logits) -> None:
        """What is drafted here is read of logits [known]."""
        if self.law.is_due():
            self._said = reading, np.array(logits)

    @property
    def hears_hidden(self) -> bool:
        """See protocol.HearsHidden."""
        return self.seen is None

    def plain_law(self) -> Transform | None:
        """What drafts are drawn from, behind the target's edits, where these but count tokens."""
        law = counted(self.law.now())
        return None if law is None else law.fused.how

    def drew(
        self,
        rounds: Sequence[tuple[Sequence[int], Proposal]],
        scores: Scores,
        said: tuple[Reading, Logits] | None,
    ) -> None:
        """As `propose` and `commit` of each of the rounds that compiled code drew. Of the last one scores are known,
        and what the head said first [known]; None: nothing but hidden states."""
        *before, (tokens, proposal) = rounds
        is_due = [self.law.is_due() for _ in rounds][-1]  # no other is: see OwnLaw.settled, of all texts
        for kept, drafted in before:
            self.trees.saw(kept, drafted)
            self.length, self.law = self.length + len(kept), self.law.after(kept)
        self.rows.read_on(sum(len(kept) for kept, _ in before))
        self.drafted, self._said = proposal, said if is_due else None
        self.commit(tokens, scores)

    def close(self) -> None:
        """The text has ended."""
        self.rows.close()

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """The text goes on; without the target's hidden states nothing can be drafted until the next round."""
        said, self._said = self._said, None
        if said is not None and scores is not None:
            reading, logits = said
            self.law.learn(scores.logits[0], lambda law: reading.weights(logits, law), reading.tokens)
        if self.drafted is not None:
            self.trees.learn(tokens, self.drafted, scores)
        if self.seen is not None:
            self.seen.ended(tokens, self.drafted, scores)
        self.rows.commit(tokens, scores)
        self.drafted = None
        self.length, self.law = self.length + len(tokens), self.law.after(tokens)
