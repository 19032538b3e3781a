"""The bar of what is read or written for a while: a model that is fetched, an index that is built."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truedraw.models import Progress


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on stderr that appears with the first step, on a terminal only, and is gone afterwards."""
    steps = _Steps()
    try:
        yield steps
    finally:
        steps.end()


class _Steps:
    """A Progress for any thread; what draws it is imported with the first step: most models are there and need none."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}
        self._lock, self._ended = Lock(), False

    def __call__(self, what: str, done: int, total: int | None) -> None:
        with self._lock:
            if not self._ended:
                self._show(what, done, total)

    def _show(self, what: str, done: int, total: int | None) -> None:
        if self._bar is None:
            self._bar = _bar()
            self._bar.start()
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what)
        self._bar.update(self._tasks[what], completed=done, total=total)

    def end(self) -> None:
        with self._lock:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()


def has_bars(console: Any) -> bool:
    """Whether one can be drawn: FORCE_COLOR makes rich take any file for a terminal, and a dumb one moves nothing."""
    return sys.stderr.isatty() and console.is_terminal and not console.is_dumb_terminal


def _bar() -> Any:
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    return passing_bar(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())


def passing_bar(*columns: Any) -> Any:
    """Progress of rich on stderr, with its usual columns if none are given; on a terminal only, and gone afterwards."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not has_bars(console))
