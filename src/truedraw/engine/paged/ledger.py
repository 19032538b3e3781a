"""Who holds pages, kept so that nothing which comes in the midst of a change spoils anything.

A handler of signals may raise wherever a function of Python begins, a call has returned or a loop goes round; it may
also call the engine, and so may the garbage collector, which closes what was dropped. Hence three rules:

* What holders have is the truth, each step of which is whole by itself. How many hold a page and which ones are free
  follows from it. The change behind one that broke off makes that anew, and nothing computed before is found again.
* Pages are given back by saying so, and are free when no change is under way. Those of a holder that is gone come back
  the same way.
* A change within another one forgets no page that could be found: the other may have just found it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from types import FrameType
from weakref import ref


class Holder:
    """Somebody who holds `pages`, a table of them, as long as it lives."""

    def __init__(self, ledger: Ledger) -> None:
        self._entry, self._ledger = ledger.entry(self), ledger

    @property
    def pages(self) -> list[int]:
        """In the order of the text."""
        if self._entry.is_left:
            self._entry = self._ledger.entry(self)
        return self._entry.pages

    @pages.setter
    def pages(self, pages: list[int]) -> None:
        if self._entry.is_left:
            self._entry = self._ledger.entry(self)
        self._entry.pages = pages

    def give_back(self) -> None:
        """Hold no page any more; harmless when repeated."""
        self._ledger.left.append(self._entry)  # first: whoever finds it there looks whether it is true
        self._entry.is_left = True
        self._ledger.settle()


class Entry(ref):  # type: ignore[type-arg] # of a Holder
    """What a holder has, even when it is gone; is_left: it has given that back."""

    __slots__ = ("is_left", "pages")
    pages: list[int]
    is_left: bool


class Ledger:
    """Of one pool: a context manager around each change.

    release: one holder fewer for each of these pages. restore: all that follows from the tables that there are.
    """

    def __init__(
        self, release: Callable[[Sequence[int]], None], restore: Callable[[Sequence[Sequence[int]]], None]
    ) -> None:
        self._release, self._restore = release, restore
        self._entries: dict[int, Entry] = {}
        self.left: deque[Entry] = deque()
        """Given back, or of holders that are gone; what fills it is no Python, which could be interrupted."""
        self._open: FrameType | None = None  # who makes a change, or has made one that broke off
        self._is_spoilt = False  # that one, or one within it
        self.is_within = False  # whether one has been made within it

    def entry(self, holder: Holder) -> Entry:
        """Of one that has no pages."""
        entry = Entry(holder, self.left.append)
        entry.pages, entry.is_left = [], False
        self._entries[id(entry)] = entry
        return entry

    def settle(self) -> None:
        """Make good what broke off, and free what was given back; not in the midst of a change."""
        if self._open is not None or self.left:
            with self:
                """That does it."""

    def __enter__(self) -> None:
        frame = sys._getframe(1)
        if self._open is not None:
            self.is_within = _calls(self._open, frame)
            if self.is_within:
                return
            self._mend()
        self._open, self.is_within = frame, False
        while self.left:
            self._free(self.left.popleft())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._is_spoilt = True
        elif sys._getframe(1) is self._open and not self._is_spoilt:
            self._open, self.is_within = None, False
            self.settle()

    def _free(self, entry: Entry) -> None:
        if (entry.is_left or entry() is None) and self._entries.pop(id(entry), None) is not None:
            self._release(entry.pages)

    def _mend(self) -> None:
        known = [(entry, entry()) for entry in [*self._entries.values()] if not entry.is_left]
        kept = [entry for entry, holder in known if holder is not None]
        self._entries = {id(entry): entry for entry in kept}
        self.left.clear()  # what is in it is none of these, whose holders do not go before all is done
        self._restore([entry.pages for entry in kept])
        self._is_spoilt = False


def _calls(frame: FrameType, other: FrameType | None) -> bool:
    """Whether one frame waits for another, in this thread."""
    while other is not None and other is not frame:
        other = other.f_back
    return other is not None
