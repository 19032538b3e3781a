"""What an EAGLE draft knows of one text: keys and values of its rows, and hidden states still to be read.

The draft's row of token j reads the target's hidden states of token j and the token behind it. They come with the
scores of a round, for every token that was kept, and with a text's first scores for the tokens before (TextRows).
Rows that were drafted are thrown away, whether their tokens were kept or not: they were made of the draft's own guesses
at the target's states. Where hidden states are missing, of tokens whose pages were found in the cache of the target for
instance, the draft goes on without their rows: it attends to fewer, at the places that they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.eagle.attention import Memory
from truedraw.draft.head.reading import Reading
from truedraw.draft.tempering import OwnLaw
from truedraw.draft.trees import TreesOfText
from truedraw.protocol import ROOT, Ints, Logits, Proposal, Scores, TextRows


class Unread(NamedTuple):
    """Rows that are not in the memory yet."""

    hidden: NDArray[np.float32]  # [rows, streams, width of the target]
    positions: Ints  # [rows]
    tokens: Ints  # [rows] behind them
    source: TextRows | None = None  # what all texts of a prompt share


class EagleState:
    """protocol.DraftState."""

    def __init__(
        self, tokens: Sequence[int], law: OwnLaw, memory: Memory, trees: TreesOfText, reading: Reading
    ) -> None:
        self.tokens, self.law, self.memory = list(tokens), law, memory
        self.unread: list[Unread] = []
        self.drafted: Proposal | None = None
        self._next = 0  # place of the first token of which no row is known
        self.trees, self._reading = trees, reading
        self._said: Logits | None = None  # by the draft behind the text, where that is to be learnt from

    @property
    def is_ready(self) -> bool:
        """Whether the row that the next token follows is still to be read: it is what a draft begins with."""
        return bool(self.unread) and self._next == len(self.tokens) - 1

    def worths(self, nodes: int) -> Sequence[tuple[float, int]] | None:
        """protocol.Shapes: tokens that each of so many nodes is worth, and its level."""
        return self.trees.worths(nodes)

    def hear(self, logits: Logits) -> None:
        """The draft says logits [known] here."""
        if self.law.is_due():
            self._said = np.array(logits)

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """The text goes on; without the target's hidden states nothing can be drafted until the next round."""
        said, self._said = self._said, None
        if said is not None and scores is not None:
            reading = self._reading
            self.law.learn(scores.logits[0], lambda law: reading.weights(said, law), reading.tokens)
        self.trees.learn(tokens, self.drafted, scores)
        self.drafted, self.law = None, self.law.after(tokens)
        last = len(self.tokens) - 1
        self.tokens.extend(tokens)
        for rows in () if scores is None else scores.text:
            self._found(rows.first, rows.hidden, rows)
        if scores is not None and scores.hidden is not None:
            self._found(last, scores.hidden[rows_of(tokens, scores.proposal)])

    def _found(self, first: int, hidden: NDArray[np.float32], source: TextRows | None = None) -> None:
        """Hidden states of the tokens from `first` on; what is known of them already is not read twice."""
        known = max(0, self._next - first)
        if known >= len(hidden):
            return
        self._next = first + len(hidden)
        positions = np.arange(first + known, self._next)
        behind = np.array(self.tokens[first + known + 1 : self._next + 1], np.int64)
        self.unread.append(Unread(hidden[known:], positions, behind, None if known else source))


def rows_of(tokens: Sequence[int], proposal: Proposal | None) -> list[int]:
    """The rows of scores that `tokens` were drawn from, up to the first that is not known."""
    rows, here = [0], {ROOT}
    if proposal is None:
        return rows
    parents, ids = proposal.parents.tolist(), proposal.tokens.tolist()
    for token in tokens[:-1]:
        here = {node for node, parent in enumerate(parents) if parent in here and ids[node] == token}
        if not here:
            break
        rows.append(1 + min(here))
    return rows
