"""The texts of an engine that are scored, and what drafts have computed behind them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Seq
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from truedraw.engine.drafted.behind import Behind
from truedraw.engine.texts import Limits, continuation
from truedraw.protocol import Engine, Sequence

if TYPE_CHECKING:
    from truedraw.engine.drafted.reading import DraftText

Held = TypeVar("Held", "ScoredText", Behind)


class Texts:
    """All that is open in one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.limits = Limits(engine.vocab_size, engine.context_length)
        self.scored: WeakSet[ScoredText] = WeakSet()
        self.read: WeakSet[DraftText] = WeakSet()  # by drafters
        self._behind: WeakSet[Behind] = WeakSet()
        self._before: WeakKeyDictionary[Behind, ScoredText] = WeakKeyDictionary()  # as last found

    def text(self, tokens: Seq[int]) -> ScoredText | None:
        """One of exactly these tokens that is scored, of which most is computed."""
        return min(_equal(self.scored, tokens), key=lambda text: text.num_uncached, default=None)

    def behind(self, tokens: Seq[int]) -> Behind | None:
        """What drafts have computed behind a text."""
        return next((each for each in _equal(self._behind, tokens) if each.holders), None)

    def before(self, behind: Behind) -> ScoredText | None:
        """A scored text that stands where `behind` begins, None once there is none; texts only grow."""
        text = self._before.get(behind)
        if text is None or text not in self.scored or len(text.tokens) != len(behind.tokens):
            text = self.text(behind.tokens)
            if text is not None:
                self._before[behind] = text
        return text

    def begun(self, tokens: Seq[int]) -> Behind:
        """The same, and nothing yet where nobody has drafted there."""
        found = self.behind(tokens)
        if found is None:
            found = Behind(self.engine, tokens)
            self._behind.add(found)
        return found

    def forget(self) -> None:
        """Free all that drafts have computed, texts of their own included."""
        for behind in tuple(self._behind):
            behind.forget()
        for text in tuple(self.read):
            text.give_way()


class ScoredText:
    """protocol.Sequence: a text of the engine, which takes over what a draft has computed of the tokens that come."""

    def __init__(self, texts: Texts, inner: Sequence) -> None:
        self.inner = inner
        self._texts = texts
        texts.scored.add(self)

    @property
    def tokens(self) -> Seq[int]:
        """The committed text."""
        return self.inner.tokens

    @property
    def num_uncached(self) -> int:
        """Rows of text that the next pass must compute."""
        return self.inner.num_uncached

    def is_of(self, texts: Texts) -> bool:
        """Whether it was opened among these."""
        return self._texts is texts

    def commit(self, tokens: Seq[int]) -> None:
        """Append."""
        fresh = continuation(tokens, len(self.tokens), self._texts.limits)
        behind = self._texts.behind(self.tokens)
        ahead = None if behind is None else behind.goes_on(fresh)
        if ahead is None:
            self.inner.commit(fresh)
        else:
            self.inner.close()
            self.inner = ahead

    def evict(self) -> None:
        """Give the pages back, those of drafts behind the text as well."""
        self.forget()
        self.inner.evict()

    def forget(self) -> None:
        """Free what drafts have computed behind the text."""
        behind = self._texts.behind(self.tokens)
        if behind is not None:
            behind.forget()

    def close(self) -> None:
        """Give the pages back."""
        self._texts.scored.discard(self)
        self.inner.close()


def _equal(texts: Iterable[Held], tokens: Seq[int]) -> Iterator[Held]:
    """Those of exactly these tokens; the ends are compared first."""
    length, last, wanted = len(tokens), tokens[-1], list(tokens)
    near = (text for text in texts if len(text.tokens) == length and text.tokens[-1] == last)
    return (text for text in near if list(text.tokens) == wanted)
