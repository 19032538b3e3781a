"""A text and the slots of the cache that hold it: commit by agreement."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from truedraw.engine.openvino.pages import PagePool
from truedraw.errors import EngineError


class PagedSequence:
    """Implements protocol.Sequence.

    Slots 0 .. `cached` - 1 hold the text. After a pass the slots behind them hold the draft tokens that follow each
    other as a chain; whatever of them is committed next need not be computed again.
    """

    def __init__(self, tokens: Seq[int], pool: PagePool, vocab_size: int, limit: int) -> None:
        self._tokens = list(tokens)
        self.pool = pool
        self._vocab_size, self._limit = vocab_size, limit
        self._drafted: list[int] = []  # tokens in the slots behind the text, while all of the text is cached
        self.cached = 0
        self.pages: list[int] = []
        self.closed = False

    @property
    def tokens(self) -> Seq[int]:
        """The committed text; read only."""
        return self._tokens

    @property
    def num_uncached(self) -> int:
        """Rows of text in the next pass: at least the last token, whose logits are wanted."""
        return max(1, len(self._tokens) - self.cached)

    def commit(self, tokens: Seq[int]) -> None:
        """Append `tokens`; raises EngineError beyond the context length, for an unknown token or once closed."""
        self.check_open()
        fresh = [int(token) for token in tokens]
        if len(self._tokens) + len(fresh) > self._limit:
            raise EngineError(
                f"a text of {len(self._tokens) + len(fresh)} tokens is longer than the model's context of "
                f"{self._limit}; stop at the context length"
            )
        check_tokens(fresh, self._vocab_size)
        agreed = common_prefix(fresh, self._drafted) if self.cached == len(self._tokens) else 0
        self._tokens += fresh
        self.cached += agreed
        self._drafted = self._drafted[agreed:] if agreed == len(fresh) else []

    def close(self) -> None:
        """Give the pages back; harmless when repeated."""
        if not self.closed:
            self.pool.release(self.pages)
            self.pages, self._drafted, self.cached, self.closed = [], [], 0, True

    def check_open(self) -> None:
        """Raises EngineError for a closed sequence."""
        if self.closed:
            raise EngineError("the sequence is closed; open the text again")

    def forked(self) -> PagedSequence:
        """An equal sequence that shares the pages."""
        twin = PagedSequence(self._tokens, self.pool, self._vocab_size, self._limit)
        twin.cached, twin._drafted, twin.pages = self.cached, list(self._drafted), list(self.pages)
        self.pool.share(twin.pages)
        return twin

    def uncertain(self) -> None:
        """Forget the draft tokens in the cache: a pass is about to write there."""
        self._drafted = []

    def computed(self, end: int, drafted: list[int]) -> None:
        """A pass has filled the slots up to `end` with text, then with `drafted`, a chain of draft tokens."""
        self.cached, self._drafted = end, drafted


def common_prefix(a: Seq[int], b: Seq[int]) -> int:
    """The number of leading tokens in which a and b agree."""
    length = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        length += 1
    return length


def check_tokens(tokens: Seq[int], vocab_size: int) -> None:
    """Raises EngineError for an id outside the vocabulary."""
    for token in tokens:
        if not 0 <= token < vocab_size:
            raise EngineError(f"token {token} is outside the model's vocabulary of {vocab_size}")
