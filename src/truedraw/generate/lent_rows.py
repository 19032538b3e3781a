"""Rows as code that is not ours is shown them: it cannot write into what the text goes on by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truedraw.protocol import Floats, Logits, Proposal, Purpose, Randomness, Rows, Verdict
from truedraw.verify.draws import decided, draw
from truedraw.verify.proposals import vocabulary


class LentRows:
    """protocol.DrawingRows, and DecidingRows, around others: the same numbers, not to be written into."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self.vocab_size = rows, vocabulary(rows)

    def __getitem__(self, row: int) -> Floats:
        lent = self._rows[row].view()
        lent.flags.writeable = False
        return lent

    def draw(self, row: int, randomness: Randomness, purpose: Purpose, position: int, node: int = 0) -> int:
        """See protocol.DrawingRows."""
        return draw(self._rows, row, randomness, purpose, position, node)

    def decide(self, coupled: bool, proposal: Proposal, randomness: Randomness, position: int) -> Verdict | None:
        """See protocol.DecidingRows."""
        return decided(self._rows, coupled, proposal, randomness, position)


class WatchedRows(LentRows):
    """The same for an observer, of generate.rows.LawRows; it may look at copies of hidden states and logits as well."""

    _rows: Any

    @property
    def hidden(self) -> Any:
        """Of the pass [1 + nodes, layers, width], or None."""
        hidden = self._rows.hidden
        return None if hidden is None else hidden.copy()

    def logits(self, tokens: Sequence[int]) -> list[Logits]:
        """The model's rows [vocab] that the tokens of a verdict were drawn from."""
        return [row.copy() for row in self._rows.logits(tokens)]
