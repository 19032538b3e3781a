"""How far training is: a bar a stage on a terminal, and lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import typer

from truedraw.cli.bar import has_bars

if TYPE_CHECKING:
    from truedraw.distill.plan import Tell

LINE_SECONDS = 60.0  # between lines of one stage


@contextmanager
def bars() -> Iterator[Tell]:
    """On stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not has_bars(console):
        yield Lines().tell
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console) as shown:

        def tell(stage: str, done: float, words: str) -> None:
            if stage not in tasks:
                tasks[stage] = shown.add_task(stage, total=1.0, words="")
            shown.update(tasks[stage], completed=min(done, 1.0), words=words)

        yield tell


class Lines:
    """A line when a stage begins, when it is through, and one a minute between; `now` tells seconds."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._told: dict[str, tuple[float, bool]] = {}  # a stage: when it was told of last, and whether it was through

    def tell(self, stage: str, done: float, words: str) -> None:
        """See distill.plan.Tell."""
        now, is_through = self._now(), done >= 1.0
        last, was_through = self._told.get(stage, (-LINE_SECONDS, False))
        if now - last < LINE_SECONDS and is_through == was_through:
            return
        self._told[stage] = now, is_through
        typer.echo(f"{stage}: {min(done, 1.0):.0%}, {words}", err=True)
