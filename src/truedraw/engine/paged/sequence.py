"""A text and the slots of the cache that hold it: commit by agreement."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from truedraw.engine.paged.ledger import Holder
from truedraw.engine.paged.pages import PagePool
from truedraw.engine.paged.prefixes import Block
from truedraw.engine.shown import Shown
from truedraw.engine.texts import Limits, check_open, check_tokens, continuation


class PagedSequence(Holder):
    """Implements protocol.Sequence.

    Slots 0 .. `cached` - 1 hold the text. After a pass the slots behind them hold the draft tokens that follow each
    other as a chain; whatever of them is committed next need not be computed again. Pages that are full of computed
    text are left where equal texts find them, unless the text is to be `alone`; the page with the last token never
    is, since that token's row is computed, and written, in every pass.

    Numbers are set in such an order that they hold wherever an interruption comes: fewer slots than there are pages
    may be known to hold text, and less of it to be findable.
    """

    def __init__(self, tokens: list[int], pool: PagePool, limits: Limits, root: Block | None) -> None:
        super().__init__(pool.ledger)
        self.tokens = tokens  # the committed text; read only
        self.pool = pool
        self._limits = limits
        self._root = self._block = root  # the deepest findable one that is held; None: it finds and leaves nothing
        self._is_alone = root is None
        self._drafted: list[int] = []  # tokens in the slots behind the text, while all of the text is cached
        self.cached = 0
        self.closed = False
        self._asked = 0  # tokens that have been counted as asked of the cache
        self.shown = Shown()

    @property
    def num_uncached(self) -> int:
        """Rows of text in the next pass: at least the last token, whose logits are wanted."""
        return max(1, len(self.tokens) - self.cached)

    def commit(self, tokens: Seq[int]) -> None:
        """Append `tokens`; raises EngineError beyond the context length, for an unknown token or once closed."""
        self.check_open()
        length = len(self.tokens)
        fresh = continuation(tokens, length, self._limits)
        agreed = common_prefix(fresh, self._drafted) if self.cached == length else 0
        self.tokens += fresh
        self._drafted = self._drafted[agreed:] if agreed == len(fresh) else []
        self.cached += agreed
        self._keep()

    def check_tokens(self, tokens: Seq[int]) -> None:
        """Raises EngineError for unknown ones."""
        check_tokens(tokens, self._limits.vocab_size)

    def evict(self) -> None:
        """Give the pages back and keep the text; raises EngineError once closed."""
        self.check_open()
        self._give_back()

    def close(self) -> None:
        """Give the pages back; harmless when repeated."""
        if not self.closed:
            self._give_back()
            self.closed, self.shown = True, Shown()

    def check_open(self) -> None:
        """Raises EngineError for a closed sequence."""
        check_open(self.closed)

    def forked(self) -> PagedSequence:
        """An equal sequence that shares the pages."""
        twin = PagedSequence(list(self.tokens), self.pool, self._limits, self._root)
        twin._asked, twin._block = len(self.tokens), self._block
        twin.shown = self.shown.forked()
        twin.share(self)
        return twin

    def share(self, other: PagedSequence) -> None:
        """Hold what is computed of an equal text, of which this one, new and without pages, has computed nothing."""
        with self.pool.ledger:
            pages = list(other.pages)
            self.pool.share(pages)
            self.pages = pages
        self.cached, self._drafted = other.cached, list(other._drafted)

    def ask(self) -> int:
        """Tokens that `find` would look for and that have not been counted yet; from now on they are."""
        if not self._looks:
            return 0
        count, self._asked = len(self.tokens) - self._asked, len(self.tokens)
        return count

    def find(self) -> int:
        """Share the pages in which the cache still holds text that comes next; returns how many tokens they hold.

        Nothing is looked for while a page is partly filled: what is in it would be lost.
        """
        if not self._looks:
            return 0
        with self.pool.ledger:
            return self._found() if self._looks and not self.pool.ledger.is_within else 0  # all may be gone by now

    def lose(self, count: int) -> None:
        """Undo a `find` of `count` tokens."""
        if not count:
            return
        self.cached -= count
        kept = len(self.pages) - count // self.pool.rows
        while self._block is not None and self._block.depth > kept:
            self._block = self._block.above
        with self.pool.ledger:
            self.pool.release(self.pages[kept:])
            del self.pages[kept:]

    def uncertain(self) -> None:
        """Forget the draft tokens in the cache: a pass is about to write there."""
        self._drafted = []

    def computed(self, end: int, drafted: list[int]) -> None:
        """A pass has filled the slots up to `end` with text, then with `drafted`, a chain of draft tokens."""
        self.cached, self._drafted = end, drafted
        self._keep()

    @property
    def _looks(self) -> bool:
        """Whether text that comes next is looked for."""
        self._stay_found()
        return self._block is not None and len(self.pages) <= self._block.depth

    def _stay_found(self) -> None:
        """Where all that could be found is gone, stay alone with what is held."""
        root = self.pool.prefixes.root
        if self._block is not None and self._root is not root:
            self._block, self._root = None if self.pages else root, root

    def _found(self) -> int:
        block, rows = self._block, self.pool.rows
        assert block is not None
        before = block.depth
        while (found := block.below.get(self._page_of_text(block.depth))) is not None:
            self.pool.share([found.page])
            self.pages.append(found.page)
            block = found
        self._block, self.cached = block, block.depth * rows
        return (block.depth - before) * rows

    def _keep(self) -> None:
        """Let equal texts find the pages that are full now."""
        full = min(self.cached, len(self.tokens) - 1) // self.pool.rows
        if self._block is None or self._block.depth >= full:
            return
        with self.pool.ledger:
            self._stay_found()
            if self.pool.ledger.is_within:
                return
            while self._block is not None and self._block.depth < full:
                index = self._block.depth
                block = self.pool.keep(self._block, self._page_of_text(index), self.pages[index])
                self.pages[index] = block.page
                self._block = block

    def _page_of_text(self, index: int) -> tuple[int, ...]:
        """The tokens of a whole page, the text's last token not among them; else fewer, which no block has."""
        rows = self.pool.rows
        return tuple(self.tokens[index * rows : min((index + 1) * rows, len(self.tokens) - 1)])

    def _give_back(self) -> None:
        self._drafted, self.cached, self._asked = [], 0, 0
        root = None if self._is_alone else self.pool.prefixes.root
        self._block, self._root = root, root
        self.give_back()


def common_prefix(a: Seq[int], b: Seq[int]) -> int:
    """The number of leading tokens in which a and b agree."""
    length = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        length += 1
    return length
