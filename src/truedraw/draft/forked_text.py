"""One text while it is drafted for, a pass at a time."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from truedraw.draft.cached_text import Text
from truedraw.draft.joining import join
from truedraw.protocol import NOTHING, Engine, Proposal, Sequence, Work


class ForkedText:
    """The first pass is one of the text itself, with the tokens `behind` it that are certain to come; the next ones go
    on in a fork, which is dropped at the end.
    """

    def __init__(self, engine: Engine, text: Text, behind: Seq[int]) -> None:
        self._engine, self._text, self.behind = engine, text, text.ids(behind)
        self._sequence: Sequence | None = None
        self._fork: Sequence | None = None

    def starts(self) -> bool:
        """Whether there is room in the cache."""
        self._sequence = self._text.sequence()
        return self._sequence is not None

    @property
    def num_certain(self) -> int:
        """Rows of the next pass that are those of tokens `behind`."""
        return 0 if self._fork is not None else len(self.behind)

    def work(self, guess: Proposal = NOTHING) -> Work:
        """The rows of the next pass."""
        if self._fork is not None:
            return Work(self._fork, guess)
        assert self._sequence is not None
        return Work(self._sequence, join(self.behind, guess))

    def commit(self, tokens: Seq[int]) -> None:
        """The draft goes on behind these."""
        if self._fork is None:
            assert self._sequence is not None
            self._fork = self._engine.fork(self._sequence, 1)[0]
            self._fork.commit(self.behind)
        self._fork.commit(self._text.ids(tokens))

    def leave(self) -> None:
        """Give up the pages; what was drafted so far stands, for no token drawn had a part in this."""
        self.close()
        if self._sequence is not None:
            self._sequence.evict()

    def close(self) -> None:
        """Give the fork back: to be done whatever happens, for nobody else knows of it."""
        if self._fork is not None:
            self._fork.close()
            self._fork = None
