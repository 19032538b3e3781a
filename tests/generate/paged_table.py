"""The toy engine with a cache of pages that runs out, and with an eye on how it is used.

Every path of a tree but the first takes pages of its own, from the last token of the text on, while a pass lasts.
"""

from __future__ import annotations

from truedraw import Model
from truedraw.engine.tabular import TabularEngine, TabularSequence
from truedraw.engine.trees import paths
from truedraw.errors import EngineError, OutOfPages
from truedraw.models.toy import TOY_TABLE, toy_text
from truedraw.text import Tokenizer

MANY = 10_000


class PagedText(TabularSequence):
    """Holds pages for what is covered of it, shared with nobody."""

    def __init__(self, tokens, engine, cached=0):
        super().__init__(tokens, cached)
        self.engine, self.closed = engine, False
        engine.open_texts.append(self)

    @property
    def pages(self) -> int:
        return self.engine.pages_for(self.cached)

    def evict(self):
        assert not self.closed
        self.engine.evictions += 1
        super().evict()

    def close(self):
        if not self.closed:
            self.closed = True
            self.engine.open_texts.remove(self)


class PagedTable(TabularEngine):
    """`passes` records the rows of works and of fills."""

    def __init__(self, table=TOY_TABLE, pages=MANY, rows=4, **options):
        super().__init__(table, **options)
        self.num_pages, self.rows = pages, rows
        self.open_texts: list[PagedText] = []
        self.passes: list[tuple[list[int], list[int]]] = []
        self.evictions = 0

    def pages_for(self, slots: int) -> int:
        return -(-slots // self.rows)

    def open(self, tokens):
        super().open(tokens)
        return PagedText(tokens, self)

    def fork(self, sequence, n):
        super().fork(sequence, n)
        return [PagedText(sequence.tokens, self, sequence.cached) for _ in range(n)]

    def fits(self, works, fills=()):
        return self.held_after(works, fills) <= self.num_pages

    def forward(self, works, fills=()):
        in_pass = [part.sequence for part in (*works, *fills)]
        assert len(set(map(id, in_pass))) == len(in_pass)
        if any(text.closed for text in in_pass):
            raise EngineError("the sequence is closed")
        if not self.fits(works, fills):
            raise OutOfPages(f"out of pages: {self.held_after(works, fills)} of {self.num_pages}")
        rows = [work.sequence.num_uncached + len(work.proposal) for work in works]
        self.passes.append((rows, [fill.count for fill in fills]))
        return super().forward(works, fills)

    def held_after(self, works, fills) -> int:
        held = {id(text): text.pages for text in self.open_texts}
        aside = 0
        for work in works:
            first, *others = paths(work.proposal) or [[]]
            length = len(work.sequence.tokens)
            held[id(work.sequence)] = self.pages_for(length + len(first))
            aside += sum(self.pages_for(length + len(path)) - (length - 1) // self.rows for path in others)
        for fill in fills:
            held[id(fill.sequence)] = self.pages_for(fill.sequence.cached + fill.count)
        return sum(held.values()) + aside


def toy(**options) -> Model:
    """The model "tabular" over such an engine."""
    text = toy_text()
    return Model("tabular", PagedTable(**options), Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids))
