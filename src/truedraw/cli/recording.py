"""Many samples on their way into a file, for `generate --input` and `sweep`: bar, ctrl-C, last words."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from truedraw.cli.exit_codes import ERROR, INTERRUPTED
from truedraw.cli.flags import OutputFlags
from truedraw.cli.progress import Pace, Tally, bar
from truedraw.cli.record_files import FileFlags, StdoutRecords, written
from truedraw.cli.reused import Reused, computed, use_of
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.generate.batch import Batch
    from truedraw.generate.model import Model
    from truedraw.generate.offline.batch import Emit
    from truedraw.generate.offline.journal import Journal


@dataclass(frozen=True, slots=True)
class Work:
    """What a run has to do."""

    total: int | None  # results, with those that are there; None: nobody knows
    longest: int  # tokens of one at most, unless its line says otherwise
    draw: Callable[[Batch, Emit], None]


@dataclass(frozen=True, slots=True)
class Recording:
    """One run: where its results go, and what is told about it."""

    files: FileFlags
    output: OutputFlags
    tally: Tally

    def check(self) -> None:
        """Raises BadParameter for a flag that would have no meaning, and for a folder in place of a file."""
        if (self.files.output or "").endswith(("/", os.sep)):
            raise BadParameter("--output", f"{self.files.output} is the name of a folder; give a file, or - for stdout")
        if self.files.overwrite and self.files.path is None:
            raise BadParameter("--overwrite", "goes with --output FILE; give a file, or leave it out")
        if self.output.json and self.files.path is None:
            raise BadParameter(
                "--json", "without --output FILE the results themselves are JSON lines on stdout; give that, too"
            )

    def drawn(self, model: Model, out: Journal | StdoutRecords, work: Work) -> bool:
        """Let the work emit its records into the file; whether it came to its end, or ctrl-C did."""
        before, running = use_of(model.engine), self.files.running
        with model.batch(max_running=running) as batch:
            pace = Pace(self.tally, batch, work.total, work.longest, running)
            with bar(pace, self.output.color, hidden=self.files.on_terminal) as add:

                def emit(record: dict[str, Any]) -> None:
                    with written(self.files):
                        out.append(record)
                    add(record)

                try:
                    work.draw(batch, emit)
                    out.renew()  # a run without any record overwrites, too
                    complete = True
                except KeyboardInterrupt:
                    complete = False
        anew = computed(before, use_of(model.engine), self.tally.prompt_tokens)
        self.tally.reused = Reused(self.tally.prompt_tokens, anew, batch.logits_cache_use)
        return complete

    def close(self, complete: bool, more: Mapping[str, Any]) -> None:
        """The last words: on stderr for people, with --json one object on stdout, `more` in it.

        An interrupted run says how to go on, and ends with the exit code of ctrl-C; one of which all results failed
        ends with that of an error.
        """
        if self.output.stats or self.tally.failed:
            typer.echo(self.tally.line(), err=True)
            if self.tally.first_failure:
                typer.echo(f"the first that failed: {self.tally.first_failure}", err=True)
        if self.output.stats and self.tally.done and self.tally.reused is not None:
            typer.echo(self.tally.reused.line(), err=True)
        if not complete and self.files.path is not None:
            typer.echo(f"interrupted; the same command goes on with {self.files.path}", err=True)
        if self.output.json:
            found = {"output": self.files.output, "complete": complete, **self.tally.to_dict(), **more}
            typer.echo(json.dumps(found, allow_nan=False))
        if not complete:
            raise typer.Exit(INTERRUPTED)
        if self.tally.is_in_vain:
            raise typer.Exit(ERROR)
