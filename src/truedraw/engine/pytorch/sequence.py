"""A text with its keys and values: commit by agreement, along any path of the tree that was drafted."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import NamedTuple

from truedraw.engine.pytorch.kept import Kept
from truedraw.engine.shown import Shown
from truedraw.engine.texts import Limits, check_open, continuation
from truedraw.protocol import NOTHING, ROOT, Proposal


class Drafted(NamedTuple):
    """The tree whose rows lie behind a text's, and how far down it the text has gone since."""

    proposal: Proposal = NOTHING
    front: tuple[int, ...] = (ROOT,)  # where the text stands: several nodes where siblings have the same token

    def follow(self, tokens: Seq[int]) -> tuple[Drafted, int]:
        """Down as many of the tokens as some path has, and their number."""
        front, ids, parents = self.front, self.proposal.tokens.tolist(), self.proposal.parents.tolist()
        for count, token in enumerate(tokens):
            below = tuple(node for node, parent in enumerate(parents) if parent in front and ids[node] == token)
            if not below:
                return Drafted(self.proposal, front), count
            front = below
        return Drafted(self.proposal, front), len(tokens)

    def path(self) -> list[int]:
        """The nodes that have become text."""
        found: list[int] = []
        node = self.front[0]
        while node != ROOT:
            found.append(node)
            node = int(self.proposal.parents[node])
        return found[::-1]


class TorchSequence:
    """Implements protocol.Sequence.

    `kept` holds the rows of the text as it was in the last pass, then those of the drafts that were scored there; the
    drafts that were committed since count as text. It is None where nothing is kept: `cached` may then still count
    tokens as computed, for a model that remembers nothing between passes.
    """

    def __init__(self, tokens: list[int], limits: Limits) -> None:
        self.tokens = tokens  # the committed text; read only
        self.cached = 0  # tokens of it that are computed
        self.kept: Kept | None = None
        self.closed = False
        self.shown = Shown()
        self._limits = limits
        self._text_rows = 0  # of `kept`; the others are drafts'
        self._drafted = Drafted()

    @property
    def num_uncached(self) -> int:
        """Rows of text in the next pass: at least the last token, whose logits are wanted."""
        return max(1, len(self.tokens) - self.cached)

    @property
    def num_past(self) -> int:
        """Rows that the next pass finds, the last token's not among them."""
        return 0 if self.kept is None else min(self.cached, len(self.tokens) - 1)

    def commit(self, tokens: Seq[int]) -> None:
        """Append `tokens`; raises EngineError beyond the context length, for an unknown token or once closed."""
        self.check_open()
        length = len(self.tokens)
        fresh = continuation(tokens, length, self._limits)
        if self.cached == length:
            self._drafted, agreed = self._drafted.follow(fresh)
            self.cached += agreed
        self.tokens += fresh

    def evict(self) -> None:
        """Give the memory back and keep the text; raises EngineError once closed."""
        self.check_open()
        self._forget()

    def close(self) -> None:
        """Give the memory back; harmless when repeated."""
        self._forget()
        self.closed, self.shown = True, Shown()

    def check_open(self) -> None:
        """Raises EngineError for a closed sequence."""
        check_open(self.closed)

    def forked(self) -> TorchSequence:
        """An equal sequence that shares what is kept."""
        twin = TorchSequence(list(self.tokens), self._limits)
        twin.cached, twin.kept = self.cached, self.kept
        twin._text_rows, twin._drafted, twin.shown = self._text_rows, self._drafted, self.shown.forked()
        return twin

    def past(self) -> Kept | None:
        """The first `num_past` rows; None for none."""
        if self.kept is None or self.num_past == 0:
            return None
        rows = [*range(self._text_rows), *(self._text_rows + node for node in self._drafted.path())]
        return self.kept.take(rows[: self.num_past])

    def computed(self, kept: Kept | None, text: int, proposal: Proposal = NOTHING) -> None:
        """A pass has computed the first `text` tokens, then the drafts; all of these rows are kept, or none."""
        self.kept, self.cached, self._text_rows = kept, text, text
        self._drafted = Drafted() if kept is None else Drafted(proposal)

    def _forget(self) -> None:
        self.computed(None, 0)
