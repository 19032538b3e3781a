"""How far a long run is: a bar on a terminal, and a line at its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from truedraw.cli.statistics import counted, number


@dataclass(slots=True)
class Tally:
    """What was done in this run."""

    noun: str  # of one result
    done: int = 0
    failed: int = 0
    tokens: int = 0
    started: float = field(default_factory=perf_counter)

    def add(self, record: dict[str, Any]) -> None:
        """One more result."""
        self.done += 1
        self.failed += "error" in record
        self.tokens += num_tokens(record)

    @property
    def tokens_per_second(self) -> float | None:
        """Since the beginning."""
        seconds = perf_counter() - self.started
        return self.tokens / seconds if seconds else None

    def line(self, before: int = 0, before_failed: int = 0) -> str:
        """For people; `before` results were there already, of which `before_failed` are errors."""
        bad = f", {before_failed} of them failed" if before_failed else ""
        kept = f" ({before} were there already{bad})" if before else ""
        failed = f", {self.failed} of them failed" if self.failed else ""
        return (
            f"{counted(self.done, self.noun)} done{failed}{kept}; {counted(self.tokens, 'token')} in "
            f"{perf_counter() - self.started:.1f} s: {number(self.tokens_per_second, '.1f')} tokens/s"
        )


def num_tokens(record: dict[str, Any]) -> int:
    """New tokens of a sample, or of a prompt's samples."""
    if "stats" in record:
        return int(record["stats"]["tokens"])
    return len(record.get("token_ids", ()))


@contextmanager
def bar(tally: Tally, total: int | None, before: int = 0) -> Iterator[Any]:
    """Yields add(record), which counts and shows; drawn on a terminal only, and gone afterwards."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console, tally.started = Console(stderr=True), perf_counter()
    columns = (
        TextColumn(f"{{task.description}} {tally.noun}s"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]} tokens/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("", total=total, completed=before, speed="")

        def add(record: dict[str, Any]) -> None:
            tally.add(record)
            shown.update(task, advance=1, speed=number(tally.tokens_per_second, ".1f"))

        yield add
