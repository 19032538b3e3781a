"""truedraw generate --input: many prompts from a file, their samples to another one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from truedraw.cli.arriving import ArrivingLines, arriving, is_ready
from truedraw.cli.flags import AskingFlags, CountFlags, OutputFlags, SpeculationFlags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.record_files import STDOUT, FileFlags
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.errors import BadParameter
from truedraw.input_files import check_stdin, readable
from truedraw.input_files import opened as opened_input

if TYPE_CHECKING:
    from truedraw.generate.batch import Batch
    from truedraw.generate.model import Model
    from truedraw.generate.offline.batch import Emit
    from truedraw.generate.offline.done import Done
    from truedraw.generate.offline.lines import Defaults
    from truedraw.generate.speculation import Speculation

Lines = BinaryIO | ArrivingLines
HINT = "give a file of JSON lines"


@dataclass(frozen=True, slots=True)
class Job:
    """A batch as the command line describes it."""

    source: str  # a file's name, or "-"
    files: FileFlags
    model: ModelFlags
    given: dict[str, Any]  # sampling parameters but the seed
    seed: int
    speculation: Speculation
    asking: AskingFlags

    def settings(self) -> dict[str, Any]:
        """What must be the same when it goes on. The source is not: each line is compared instead."""
        from truedraw.cli.options import law_of

        return {
            "kind": "batch",
            **law_of(self.model),
            **self.asking.settings(),
            "sampling": self.given,
            "speculation": self.speculation.config(),
            "seed": self.seed,
        }

    def check_files(self) -> None:
        """Raises BadParameter."""
        from truedraw.cli.record_files import STDIN_FILE, check_apart, regular

        check_apart(self.files, {"--input": regular(STDIN_FILE) if self.source == STDOUT else Path(self.source)})


def job_of(
    source: str, files: FileFlags, asking: AskingFlags,
    flags: tuple[CountFlags, ModelFlags, SamplingFlags, SpeculationFlags],
) -> Job:  # fmt: skip
    """Raises BadParameter for what is wrong before any line is read."""
    from truedraw.cli.record_files import seed_of
    from truedraw.cli.speculating import speculation_of
    from truedraw.sampling.params import sampling_params

    count, model, sampling, spec = flags
    if not source:
        raise BadParameter("--input", f"got {source!r}; {HINT}, or - for stdin")
    given = sampling.given() | count.given()
    sampling_params(given)
    asking.settings()
    seed = seed_of(files, given.pop("seed", None))
    return Job(source, files, model, given, seed, speculation_of(spec, model.amateur), asking)


def run_job(job: Job, output: OutputFlags) -> None:
    """Every line that is not done yet; says on stderr what became of them."""
    from truedraw.cli.options import notice_lossy, opened
    from truedraw.cli.progress import Tally
    from truedraw.cli.record_files import notice_drawn_anew, records_to
    from truedraw.cli.recording import Recording, Work
    from truedraw.generate.offline.done import Done, may_pass

    run = Recording(job.files, output, Tally("prompt"))
    run.check()
    job.check_files()
    with _input(job.source) as lines, records_to(job.files, job.settings()) as out:
        done = Done(out.records(), job.files.path)
        some_left = _look_ahead(lines, done)
        out.drop(may_pass)
        run.tally.before, run.tally.before_failed = done.count, done.failed
        if done.count and some_left:
            notice_drawn_anew(job.files.path, job.speculation)
        with opened(job.model) as loaded:
            notice_lossy([job.speculation])  # a line of the input may bring another rule, and its record says so
            draw = partial(run_lines_of, lines, done, defaults(loaded, job))
            work = Work(_num_lines(job.source), longest_result(loaded, job), draw)
            complete = run.drawn(loaded, out, work)
    if complete:
        done.check_all_met()
    run.close(complete, {"model": job.model.model, "seed": job.seed})


def run_lines_of(lines: Lines, done: Done, defaults: Defaults, batch: Batch, emit: Emit) -> None:
    """The lines that are not done."""
    from truedraw.generate.offline.batch import run_lines
    from truedraw.generate.offline.lines import numbered

    run_lines(batch, done.remaining(numbered(lines)), defaults, emit, partial(is_ready, lines))


def longest_result(model: Model, job: Job) -> int:
    """Tokens of the samples of one prompt, where its line does not say otherwise."""
    params = model.params(**job.given)
    return params.max_tokens * (params.best_of or params.n)


def defaults(model: Model, job: Job) -> Defaults:
    """For lines that do not say otherwise."""
    from truedraw.generate.offline.lines import Defaults

    return Defaults(job.given, job.speculation, job.seed, model.chat_prompt, job.asking.chat, job.asking.system_prompt)


def _look_ahead(lines: Lines, done: Done) -> bool:
    """What has changed since is said before the work, where the lines can be read twice; raises BadFile. Whether any
    are left, as far as that is known."""
    from truedraw.generate.offline.lines import numbered

    if not done.count or isinstance(lines, ArrivingLines) or not lines.seekable():
        return True
    start = lines.tell()
    left = sum(line is not None for line in done.remaining(numbered(lines)))
    done.check_all_met()
    lines.seek(start)
    return left > 0


@contextmanager
def _input(source: str) -> Iterator[Lines]:
    """The lines, as bytes; raises BadFile."""
    if source == STDOUT:
        check_stdin()
        yield arriving(sys.stdin.buffer)
        return
    with opened_input(Path(source), f"--input {source}", HINT) as file:
        yield arriving(file)


def _num_lines(source: str) -> int | None:
    """Lines with something in them, for the bar; None where they can be read only once."""
    path = Path(source)
    if source == STDOUT or not path.is_file() or not sys.stderr.isatty():
        return None
    with readable(f"--input {source}", HINT), path.open("rb") as file:
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
