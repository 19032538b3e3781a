"""Full pages by the text they hold, so that a text which begins like another one finds its pages.

A tree: a block is a page of tokens below the block of the tokens before it. Children are looked up by their tokens
themselves, all of them, so two texts whose hashes collide are still two texts.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

Tokens = tuple[int, ...]


@dataclass(eq=False, slots=True)
class Block:
    """A page full of text whose keys and values are computed; whoever holds it holds the blocks above it."""

    above: Block | None  # None: the root, which stands before every text
    tokens: Tokens
    page: int
    depth: int  # pages of text up to its end
    below: dict[Tokens, Block] = field(default_factory=dict)


class Prefixes:
    """The blocks of one pool, and which of them are idle: held by nobody, kept until their pages are wanted.

    At most `max_idle` pages are idle; with 0 the engine adds no block at all.
    """

    def __init__(self, max_idle: int) -> None:
        self.max_idle = max_idle
        self.root = Block(None, (), -1, 0)
        self._blocks: dict[int, Block] = {}  # by page
        # Longest idle first. A text gives its pages back last page first, and whoever holds a block holds those
        # above it, so that a block always stands before the one above it: the longest idle one has nothing below.
        self._idle: OrderedDict[int, None] = OrderedDict()

    def __contains__(self, page: int) -> bool:
        return page in self._blocks

    @property
    def num_idle(self) -> int:
        """Pages that nobody holds and that can still be found."""
        return len(self._idle)

    def add(self, above: Block, tokens: Tokens, page: int) -> Block:
        """The block of these tokens: a new one in `page`, or the one that is there already, in a page of its own."""
        known = above.below.get(tokens)
        if known is None:
            known = above.below[tokens] = self._blocks[page] = Block(above, tokens, page, above.depth + 1)
        return known

    def rest(self, page: int) -> None:
        """Nobody holds the page any more."""
        self._idle[page] = None

    def wake(self, page: int) -> None:
        """Somebody holds the page, which may have been idle."""
        self._idle.pop(page, None)

    def forget_all(self) -> None:
        """Nothing can be found any more; who still has blocks below the old root leaves them alone."""
        self.root = Block(None, (), -1, 0)
        self._blocks.clear()
        self._idle.clear()

    def forget_oldest(self) -> int:
        """The page that was idle longest, which can no longer be found."""
        page, _ = self._idle.popitem(last=False)
        block = self._blocks.pop(page)
        if block.above is not None:
            del block.above.below[block.tokens]
        return page
