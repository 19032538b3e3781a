"""Who holds pages, kept so that no interruption in the midst of a change spoils anything.

A handler of signals may raise wherever a function of Python begins, a call has returned or a loop goes round. So what
holders have is the truth, each step of which is whole by itself. How many hold a page, which ones are free and which
can be found follows from it: the change behind one that broke off makes that anew. It also gives back what is left by
holders that are gone and have not done so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from truedraw.engine.paged.prefixes import Block


class Holder:
    """Somebody who holds `pages`, a table of them, as long as it lives."""

    def __init__(self, ledger: Ledger) -> None:
        self._entry, self._ledger = ledger.entry(self), ledger

    @property
    def pages(self) -> list[int]:
        """In the order of the text."""
        return self._entry.pages

    @pages.setter
    def pages(self, pages: list[int]) -> None:
        self._entry.pages = pages

    def give_back(self) -> None:
        """Hold no page any more; harmless when repeated."""
        with self._ledger:
            self._ledger.release(self.pages)
            self.pages = []

    def unfound(self, root: Block) -> None:
        """No text that was computed is found any more; what is from now on stands below the root."""


class Entry(ref):  # type: ignore[type-arg] # of a Holder
    """What a holder has, even when it is gone."""

    __slots__ = ("pages",)
    pages: list[int]


class Ledger:
    """Of one pool: a context manager around each change; one does not stand within another.

    release: one holder fewer for each of these pages. restore: all that follows from what these holders have.
    """

    def __init__(self, release: Callable[[Sequence[int]], None], restore: Callable[[Sequence[Holder]], None]) -> None:
        self.release, self._restore = release, restore
        self._entries: dict[int, Entry] = {}
        self._gone: deque[Entry] = deque()  # holders; what fills it is no Python, which could be interrupted
        self._is_whole = True

    def entry(self, holder: Holder) -> Entry:
        """Of one that has no pages yet."""
        entry = Entry(holder, self._gone.append)
        entry.pages = []
        self._entries[id(entry)] = entry
        return entry

    def __enter__(self) -> None:
        self.mend()
        self._is_whole = False
        while self._gone:
            entry = self._gone.popleft()
            if self._entries.pop(id(entry), None) is not None:
                self.release(entry.pages)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._is_whole = kind is None

    def mend(self) -> None:
        """Where a change broke off; not within one."""
        if self._is_whole:
            return
        known = [(entry, entry()) for entry in [*self._entries.values()]]
        self._entries = {id(entry): entry for entry, holder in known if holder is not None}
        self._gone.clear()  # these are none of them, and none goes before all is done
        self._restore([holder for _, holder in known if holder is not None])
        self._is_whole = True
