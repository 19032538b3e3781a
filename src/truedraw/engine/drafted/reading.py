"""The texts that drafts read, in an engine whose texts are scored as well."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import NamedTuple

from truedraw.engine.drafted.behind import Behind, Path
from truedraw.engine.drafted.texts import ScoredText, Texts
from truedraw.engine.texts import check_open, continuation
from truedraw.protocol import Sequence

FARTHEST = 256
"""Tokens that a draft goes on behind a text at most; what goes farther is a text of its own."""


class Place(NamedTuple):
    """Where a draft stands."""

    behind: Behind
    path: Path
    text: ScoredText  # which stands at ()


class DraftText:
    """protocol.Sequence: a text that a draft reads, or a draft behind one.

    It holds nothing while a scored text has these tokens: then `behind` is what drafts have computed there, once this
    one was. `own` is its text in the cache where no scored one has its tokens.
    """

    def __init__(
        self, texts: Texts, tokens: Seq[int], own: Sequence | None = None, origin: DraftText | None = None
    ) -> None:
        self.tokens = list(tokens)
        self.own = own
        self.behind: Behind | None = None
        self._texts, self._origin, self._closed = texts, origin, False
        texts.read.add(self)

    @property
    def num_uncached(self) -> int:
        """Rows of text that the next pass must compute."""
        if self.own is not None:
            return self.own.num_uncached
        place = self.place()
        return len(self.tokens) if place is None else place.text.num_uncached + len(place.path)

    def is_of(self, texts: Texts) -> bool:
        """Whether it was opened among these."""
        return self._texts is texts

    def commit(self, tokens: Seq[int]) -> None:
        """Append: what was drafted behind the text until now is over."""
        self.check_open()
        fresh = continuation(tokens, len(self.tokens), self._texts.limits)
        if not fresh:
            return
        self._leave()
        if self.own is not None:
            self.own.commit(fresh)
        self.tokens += fresh

    def evict(self) -> None:
        """Give the pages back and keep the text."""
        self.check_open()
        self._leave()
        self.give_way()

    def give_way(self) -> None:
        """The pages of its own text, where it has one, go to others."""
        if self.own is not None and not self._closed:
            self.own.evict()

    def close(self) -> None:
        """Give the pages back."""
        self._leave()
        if self.own is not None:
            self.own.close()
        self._closed = True

    def check_open(self) -> None:
        """Raises EngineError for a closed text."""
        check_open(self._closed)

    def place(self) -> Place | None:
        """Behind the text that it was forked from, as long as that has not gone on; else behind an equal one."""
        origin = self._origin
        while origin is not None:
            behind, length = origin.behind, len(origin.tokens)
            if behind is not None and () in behind.rows and self.tokens[:length] == origin.tokens:
                text = self._texts.before(behind)
                if text is not None and len(self.tokens) - length <= FARTHEST:
                    return Place(behind, tuple(self.tokens[length:]), text)
            origin = origin._origin
        text = self._texts.text(self.tokens)
        return None if text is None else Place(self.behind or self._texts.begun(self.tokens), (), text)

    def enter(self, place: Place) -> None:
        """It is about to be computed there."""
        if self.own is not None:
            self.own.close()
            self.own = None
        if place.path == () and self.behind is None:
            self.behind = place.behind
            place.behind.holders += 1

    def alone(self) -> Sequence:
        """As a text of its own in the cache."""
        self._leave()
        if self.own is None:
            self.own = self._texts.engine.open(self.tokens)
        return self.own

    def _leave(self) -> None:
        behind, self.behind = self.behind, None
        if behind is not None:
            behind.holders -= 1
            if not behind.holders:
                behind.forget()
