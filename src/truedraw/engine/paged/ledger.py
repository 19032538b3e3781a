"""Who holds pages, kept so that nothing which comes in the midst of a change spoils anything.

A handler of signals may raise wherever a function of Python begins, a call has returned or a loop goes round; it may
also call the engine, and so may the garbage collector, which closes what was dropped. Hence three rules:

* What holders have is the truth, each step of which is whole by itself. How many hold a page and which ones are free
  follows from it. The change behind one that broke off makes that anew, and nothing computed before is found again.
  None is made within that.
* Pages are given back by saying so, and are free once no change is under way. Those of a holder that is gone come back
  the same way.
* A change within another one finds no page, lets none be found, and forgets none that could be.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from types import FrameType
from weakref import ref

from truedraw.errors import EngineError


class Holder:
    """Somebody who holds `pages`, a table of them, as long as it lives."""

    def __init__(self, ledger: Ledger) -> None:
        self._entry, self._ledger = ledger.entry(self), ledger

    @property
    def pages(self) -> list[int]:
        """In the order of the text."""
        return self._present().pages

    @pages.setter
    def pages(self, pages: list[int]) -> None:
        self._present().pages = pages

    def _present(self) -> Entry:
        """A new one where that before was given back."""
        if self._entry.is_left:
            self._entry = self._ledger.entry(self)
        return self._entry

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
        self._open: FrameType | None = None  # who makes a change; or has made one, if not even its end was reached
        self._is_broken = False  # a change broke off
        self.is_within = False  # whether one has been made within it

    def entry(self, holder: Holder) -> Entry:
        """Of one that has no pages."""
        entry = Entry(holder, self.left.append)
        entry.pages, entry.is_left = [], False
        self._entries[id(entry)] = entry
        return entry

    def settle(self) -> None:
        """Make good what broke off, and free what was given back; not in the midst of a change."""
        is_under_way = self._open is not None and _calls(self._open, sys._getframe())
        if not is_under_way and (self._open is not None or self._is_broken or self.left):
            with self:
                """That does it."""

    def __enter__(self) -> None:
        frame = sys._getframe(1)
        if self._open is not None and _calls(self._open, frame):
            self._come_within()
            return
        self._is_broken = self._is_broken or self._open is not None
        self._open, self.is_within = frame, False
        if self._is_broken:
            self._mend()
        while self.left:
            self._free(self.left.popleft())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._is_broken = self._is_broken or kind is not None
        if sys._getframe(1) is self._open:
            self._open, self.is_within = None, False
            if kind is None:
                self.settle()

    def _come_within(self) -> None:
        if self._is_broken:
            raise EngineError("the cache is being mended: call the model when its own call has returned")
        self.is_within = True

    def _free(self, entry: Entry) -> None:
        if (entry.is_left or entry() is None) and self._entries.pop(id(entry), None) is not None:
            self._release(entry.pages)

    def _mend(self) -> None:
        """Who goes or gives back meanwhile counts here, and is `left`."""
        known = [(entry, entry()) for entry in [*self._entries.values()]]
        for entry, holder in known:
            if holder is None or entry.is_left:
                self._entries.pop(id(entry), None)
        self._restore([entry.pages for entry in [*self._entries.values()]])
        self._is_broken = False


def _calls(frame: FrameType, other: FrameType | None) -> bool:
    """Whether one frame waits for another, in this thread."""
    while other is not None and other is not frame:
        other = other.f_back
    return other is not None
