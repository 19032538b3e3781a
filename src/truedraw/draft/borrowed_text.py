"""A text whose drafts read the pages that the target has computed: borrowed for a round, nothing held between two."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from truedraw.protocol import Engine, Sequence

MOST_UNCACHED = 32
"""Rows of text that a draft computes itself. More are a prompt that the target has yet to read: its next pass computes
them for both."""


class BorrowedText:
    """cached_text.Text over an engine that finds, when it opens a text, what the target has computed of it."""

    def __init__(self, engine: Engine, tokens: Seq[int]) -> None:
        self._engine, self.tokens = engine, list(tokens)
        self._sequence: Sequence | None = None

    def append(self, tokens: Seq[int]) -> None:
        """The text goes on."""
        self.close()
        self.tokens.extend(tokens)

    def ids(self, tokens: Seq[int]) -> Seq[int]:
        """The tokens: both engines read the same."""
        return tokens

    def room(self, behind: int) -> int:
        """How many tokens can be drafted behind the text and `behind` further ones: the last one is never fed."""
        return self._engine.context_length - len(self.tokens) - behind + 1

    def sequence(self) -> Sequence | None:
        """The text in the cache until `close`, None while it is the target's to compute."""
        if self._sequence is None:
            self._sequence = self._engine.open(self.tokens)
        if self._sequence.num_uncached > MOST_UNCACHED:
            self.close()
        return self._sequence

    def begun(self) -> None:
        """Nothing is held for others."""

    def close(self) -> None:
        """Give back what the round has borrowed."""
        if self._sequence is not None:
            self._sequence.close()
            self._sequence = None
