"""How far a long run is: a bar on a terminal, and a line at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from math import ceil, inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from truedraw.cli.bar import has_bars
from truedraw.cli.colour import safe, wants_colour
from truedraw.cli.reused import Reused, prompt_tokens
from truedraw.cli.statistics import counted
from truedraw.sampling.values import number

if TYPE_CHECKING:
    from truedraw.generate.batch import Batch

NOT_KNOWN = "-:--:--"  # a time


@dataclass(slots=True)
class Tally:
    """What was done in this run, and what was there before it."""

    noun: str  # of one result
    before: int = 0
    before_failed: int = 0  # of these
    done: int = 0
    failed: int = 0
    first_failure: str = ""  # what its record says
    tokens: int = 0  # of the results that are done
    longest: int = 0  # tokens of one of them
    prompt_tokens: int = 0  # of every sample's
    reused: Reused | None = None
    clock: Callable[[], float] = perf_counter
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """It begins now."""
        self.started = self.clock()

    def add(self, record: dict[str, Any]) -> None:
        """One more result."""
        self.done += 1
        if "error" in record:
            self.failed += 1
            self.first_failure = self.first_failure or failure(record)
        tokens = num_tokens(record)
        self.tokens += tokens
        self.longest = max(self.longest, tokens)
        self.prompt_tokens += prompt_tokens(record)

    @property
    def is_in_vain(self) -> bool:
        """Whether there are results, and all of them failed."""
        whole = self.before + self.done
        return whole > 0 and self.before_failed + self.failed == whole

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return self.clock() - self.started

    def line(self) -> str:
        """For people."""
        bad = f", {self.before_failed} of them failed" if self.before_failed else ""
        kept = f" ({self.before} {'was' if self.before == 1 else 'were'} there already{bad})" if self.before else ""
        failed = f", {self.failed} of them failed" if self.failed else ""
        return f"{counted(self.done, self.noun)} done{failed}{kept}{self._speed() if self.done else ''}"

    def _speed(self) -> str:
        seconds = self.seconds
        speed = number(self.tokens / seconds if seconds else None, ".1f")
        return f"; {counted(self.tokens, 'token')} in {seconds:.1f} s: {speed} tokens/s"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "done": self.done,
            "failed": self.failed,
            "before": self.before,
            "before_failed": self.before_failed,
            "tokens": self.tokens,
            "seconds": self.seconds,
            **({} if self.reused is None else self.reused.to_dict()),
        }


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a run is, and how long it will take; asked from another thread, whenever the bar is drawn."""

    tally: Tally
    batch: Batch
    total: int | None  # results, with those that were there before
    longest: int  # tokens of a result at most, unless its line says otherwise
    running: int  # results that are being written at most

    @property
    def speed(self) -> float | None:
        """Tokens a second, those of unfinished texts included."""
        return self.batch.num_tokens / self.tally.seconds if self.tally.seconds else None

    @property
    def seconds_left(self) -> float | None:
        """What there is to do in the time that as much has taken so far; None while nothing was done.

        A result that is being written counts by the share of its tokens that are there. How many it will have is not
        known: as many as there were so far for each that has come to its end, and no more than it may have. What has
        failed counts neither as done nor as to do, for it takes no time.
        """
        tally = self.tally
        if self.total is None:
            return None
        good, left = tally.done - tally.failed, max(0, self.total - tally.before - tally.done)
        tokens = self.batch.num_tokens
        length = min(max(self.longest, tally.longest), tokens / good if good else inf)
        begun = min((tokens - tally.tokens) / length, self.running, left) if tokens > tally.tokens else 0.0
        work = good + begun
        return tally.seconds * (left - begun) / work if work > 0 else None


@dataclass(frozen=True, slots=True)
class Live:
    """A text that is made anew whenever it is shown."""

    text: Callable[[], str]

    def __str__(self) -> str:
        return self.text()


def clock_time(seconds: float | None) -> str:
    """ "0:01:30"."""
    return NOT_KNOWN if seconds is None else str(timedelta(seconds=ceil(seconds)))


def failure(record: dict[str, Any]) -> str:
    """Where, and why, on one line."""
    where = f"line {record['line']}: " if "line" in record else ""
    return where + safe(" ".join(str(record["error"]["message"]).split()))


def num_tokens(record: dict[str, Any]) -> int:
    """New tokens of a sample, or of a prompt's samples."""
    if "stats" in record:
        return int(record["stats"]["tokens"])
    return len(record.get("token_ids", ()))


@contextmanager
def bar(
    pace: Pace, color: Literal["auto", "always", "never"] = "auto", hidden: bool = False
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yields add(record), which counts and shows; drawn on a terminal only, and gone afterwards.

    `hidden`: nothing is drawn, as where the results themselves come to that terminal, whose lines it would break.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console, tally = Console(stderr=True, no_color=not wants_colour(color, sys.stderr)), pace.tally
    columns = (
        TextColumn(f"{{task.description}} {tally.noun}s"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]} tokens/s"),
        TextColumn("{task.fields[left]}", style="progress.remaining"),
    )
    speed, left = Live(lambda: number(pace.speed, ".1f")), Live(lambda: clock_time(pace.seconds_left))
    tally.start()
    with Progress(*columns, console=console, transient=True, disable=hidden or not has_bars(console)) as shown:
        task = shown.add_task("", total=pace.total, completed=tally.before, speed=speed, left=left)

        def add(record: dict[str, Any]) -> None:
            tally.add(record)
            shown.advance(task)

        yield add
