"""truedraw generate --input: many prompts from a file, their samples to another one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from truedraw.cli.flags import CountFlags, ModelFlags, OutputFlags, SamplingFlags, SpeculationFlags
from truedraw.cli.interrupt import EXIT_CODE
from truedraw.cli.record_files import STDOUT, FileFlags
from truedraw.errors import BadFile, BadParameter

if TYPE_CHECKING:
    from truedraw.generate.model import Model
    from truedraw.generate.offline.done import Done
    from truedraw.generate.offline.lines import Defaults
    from truedraw.generate.speculation import Speculation


@dataclass(frozen=True, slots=True)
class Job:
    """A batch as the command line describes it."""

    source: str  # a file's name, or "-"
    files: FileFlags
    model: ModelFlags
    given: dict[str, Any]  # sampling parameters but the seed
    seed: int
    speculation: Speculation
    chat: bool

    def settings(self) -> dict[str, Any]:
        """What must be the same when it goes on. The source is not: each line is compared instead."""
        from truedraw.cli.options import law_of

        return {
            "kind": "batch",
            **law_of(self.model),
            "chat": self.chat,
            "sampling": self.given,
            "speculation": asdict(self.speculation),
            "seed": self.seed,
        }


def job_of(
    source: str, files: FileFlags, chat: bool, flags: tuple[CountFlags, ModelFlags, SamplingFlags, SpeculationFlags]
) -> Job:
    """Raises BadParameter for what is wrong before any line is read."""
    from truedraw.cli.options import speculation_of
    from truedraw.cli.record_files import seed_of
    from truedraw.sampling.params import sampling_params

    count, model, sampling, spec = flags
    given = sampling.given() | count.given()
    sampling_params(given)
    seed = seed_of(files, given.pop("seed", None))
    return Job(source, files, model, given, seed, speculation_of(spec, given.get("n", 1)), chat)


def run_job(job: Job, output: OutputFlags) -> None:
    """Every line that is not done yet; says on stderr what became of them."""
    from truedraw.cli.options import opened
    from truedraw.cli.progress import Tally
    from truedraw.cli.record_files import check_apart, records_to
    from truedraw.generate.offline.done import Done

    check_apart({"--input": None if job.source == STDOUT else Path(job.source), "--output": job.files.path})
    with _input(job.source) as lines, records_to(job.files, job.settings()) as out:
        done, tally = Done(out.records(), job.files.path), Tally("prompt")
        with opened(job.model) as loaded:
            complete = _sampled(loaded, job, (lines, done), (out.append, tally))
    if output.stats or tally.failed:
        typer.echo(tally.line(done.count, done.failed), err=True)
    if not complete:
        _interrupted(job.files)


def _sampled(model: Model, job: Job, source: tuple[BinaryIO, Done], sink: tuple[Any, Any]) -> bool:
    """Whether it came to its end."""
    from truedraw.cli.progress import bar
    from truedraw.generate.offline.batch import run_lines
    from truedraw.generate.offline.lines import numbered

    (lines, done), (append, tally) = source, sink
    with bar(tally, _num_lines(job.source), done.count) as add:

        def emit(record: dict[str, Any]) -> None:
            append(record)
            add(record)

        try:
            run_lines(model, done.remaining(numbered(lines)), _defaults(model, job), emit, job.files.running)
        except KeyboardInterrupt:
            return False
    return True


def _defaults(model: Model, job: Job) -> Defaults:
    from truedraw.generate.offline.lines import Defaults

    return Defaults(job.given, job.speculation, job.seed, model.chat_prompt, job.chat)


def _interrupted(files: FileFlags) -> None:
    """Says how to go on, and ends with the exit code of ctrl-C."""
    if files.path is not None:
        typer.echo(f"interrupted; the same command goes on with {files.path}", err=True)
    raise typer.Exit(EXIT_CODE)


@contextmanager
def _input(source: str) -> Iterator[BinaryIO]:
    """The lines, as bytes; raises BadFile."""
    if source == STDOUT:
        yield sys.stdin.buffer
        return
    try:
        file = Path(source).open("rb")  # noqa: SIM115 - closed below; only opening it may fail in this way
    except OSError as error:
        raise BadFile(f"--input {source} cannot be read: {error.strerror}; give a file of JSON lines") from error
    with file:
        yield file


def _num_lines(source: str) -> int | None:
    """Lines with something in them, for the bar; None where they can be read only once."""
    path = Path(source)
    if source == STDOUT or not path.is_file() or not sys.stderr.isatty():
        return None
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def refuse_without_input(files: FileFlags) -> None:
    """Raises BadParameter for a flag that only many prompts give a meaning."""
    for name, value in (
        ("--output", files.output),
        ("--overwrite", files.overwrite or None),
        ("--max-running", files.max_running),
    ):
        if value is not None:
            raise BadParameter(name, "goes with --input FILE, many prompts; one prompt's text goes to stdout")
