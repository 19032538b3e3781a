"""How far a long run is: a bar on a terminal, and a line at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from truedraw.cli.colour import wants_colour
from truedraw.cli.statistics import counted, number

if TYPE_CHECKING:
    from truedraw.generate.batch import Batch


@dataclass(slots=True)
class Tally:
    """What was done in this run, and what was there before it."""

    noun: str  # of one result
    before: int = 0
    before_failed: int = 0  # of these
    done: int = 0
    failed: int = 0
    tokens: int = 0  # of the results that are done
    started: float = field(default_factory=perf_counter)

    def add(self, record: dict[str, Any]) -> None:
        """One more result."""
        self.done += 1
        self.failed += "error" in record
        self.tokens += num_tokens(record)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return perf_counter() - self.started

    def line(self) -> str:
        """For people."""
        bad = f", {self.before_failed} of them failed" if self.before_failed else ""
        kept = f" ({self.before} were there already{bad})" if self.before else ""
        failed = f", {self.failed} of them failed" if self.failed else ""
        seconds = self.seconds
        return (
            f"{counted(self.done, self.noun)} done{failed}{kept}; {counted(self.tokens, 'token')} in "
            f"{seconds:.1f} s: {number(self.tokens / seconds if seconds else None, '.1f')} tokens/s"
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "done": self.done,
            "failed": self.failed,
            "before": self.before,
            "before_failed": self.before_failed,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens a second since the bar appeared, those of unfinished texts included; asked whenever it is drawn."""

    batch: Batch
    started: float

    def __str__(self) -> str:
        seconds = perf_counter() - self.started
        return number(self.batch.num_tokens / seconds if seconds else None, ".1f")


def num_tokens(record: dict[str, Any]) -> int:
    """New tokens of a sample, or of a prompt's samples."""
    if "stats" in record:
        return int(record["stats"]["tokens"])
    return len(record.get("token_ids", ()))


@contextmanager
def bar(
    tally: Tally, total: int | None, batch: Batch, color: Literal["auto", "always", "never"] = "auto"
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yields add(record), which counts and shows; drawn on a terminal only, and gone afterwards."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console, tally.started = Console(stderr=True, no_color=not wants_colour(color, sys.stderr)), perf_counter()
    columns = (
        TextColumn(f"{{task.description}} {tally.noun}s"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]} tokens/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("", total=total, completed=tally.before, speed=Speed(batch, tally.started))

        def add(record: dict[str, Any]) -> None:
            tally.add(record)
            shown.advance(task)

        yield add
