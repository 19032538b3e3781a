"""Where the results of many samples go: a file that a killed run can go on with, or stdout."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from truedraw.cli.flags import OUTPUT
from truedraw.cli.grouping import flag
from truedraw.cli.notices import notice
from truedraw.cli.pipe import OutputError, write_line
from truedraw.cli.written_over import identity
from truedraw.errors import BadFile, BadParameter
from truedraw.whole_files import make_room

if TYPE_CHECKING:
    from truedraw.generate.offline.journal import Journal

STDOUT = "-"
STDIN_FILE, STDOUT_FILE = Path("/dev/stdin"), Path("/dev/stdout")


def _settings_file(values: Mapping[str, Any]) -> list[Path]:
    """Beside --output."""
    from truedraw.generate.offline.settings import beside

    path = Path(values["output"] or "")
    return [beside(path)] if path.name and values["output"] != STDOUT else []


@dataclass(frozen=True, slots=True)
class FileFlags:
    """The output, and how much is computed at once."""

    output: Annotated[
        str | None,
        flag(
            "--output",
            "-o",
            metavar="FILE",
            writes_over=(),
            beside=_settings_file,
            help="JSON lines as they are done; run again, it goes on where it was. - is stdout.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    overwrite: Annotated[
        bool, flag("--overwrite", help="Begin --output anew, whatever is there.", rich_help_panel=OUTPUT)
    ] = False
    max_running: Annotated[
        int | None, flag("--max-running", help="Samples computed at once; 64 if not given.", min=1)
    ] = None

    @property
    def path(self) -> Path | None:
        """None for stdout."""
        return None if self.output in (None, STDOUT) else Path(str(self.output))

    @property
    def on_terminal(self) -> bool:
        """Whether the results go where people look."""
        return self.path is None and sys.stdout.isatty()

    @property
    def running(self) -> int:
        """Samples computed at once."""
        from truedraw.generate.planning import LIMITS

        return self.max_running or LIMITS.max_running


def check_apart(files: FileFlags, others: Mapping[str, Path | None]) -> None:
    """Raises BadParameter where two flags name one file, of which one would destroy what the other holds.

    Beside --output stands the file of its settings, which nobody else may name either.
    """
    from truedraw.generate.offline.settings import beside

    own: dict[str, Path | None] = {"stdout": regular(STDOUT_FILE)}
    if files.path is not None:
        own |= {"--output": files.path, "the settings of --output": beside(files.path)}
    seen: dict[object, str] = {}
    for name, path in {**others, **own}.items():
        if path is None:
            continue
        other = seen.setdefault(identity(path), name)
        if other != name:
            raise BadParameter(name, f"{path} is also the file of {other}; give each a file of its own")


def regular(stream: Path) -> Path | None:
    """The stream where it leads to a file, which others may name as well: not to a pipe, a terminal or nowhere."""
    return stream if stream.is_file() else None


def notice_drawn_anew(path: Path | None, speculation: object) -> None:
    """One line on stderr where a file goes on whose texts depend on what is drafted: docs/files.md has the reason."""
    from truedraw.generate.speculation import OFF, Speculation

    if not isinstance(speculation, Speculation) or speculation.method == OFF or speculation.verifier(0).coupled:
        return
    notice(
        f"{path} goes on under the rule {speculation.rejection_sample_method}: what was being written when it was "
        "broken off may come out otherwise, so that short texts are a little likelier there"
    )


class StdoutRecords:
    """Lines to stdout as they come; there is nothing to go on with."""

    def append(self, record: dict[str, Any]) -> None:
        """One line."""
        from truedraw.generate.offline.journal import to_line

        write_line(to_line(record))

    def records(self) -> Iterator[dict[str, Any]]:
        """None."""
        return iter(())

    def renew(self) -> None:
        """Nothing: what is out is out."""

    def drop(self, unwanted: Callable[[Mapping[str, Any]], bool]) -> None:
        """Nothing: what is out is out."""


@contextmanager
def records_to(files: FileFlags, settings: Mapping[str, Any]) -> Iterator[Journal | StdoutRecords]:
    """The output, open; raises BadFile where it cannot be, or was begun with other settings."""
    from truedraw.generate.offline.journal import Journal

    if files.path is None:
        yield StdoutRecords()
        return
    with written(files):
        journal = Journal(files.path, settings, files.overwrite)
    try:
        yield journal
    finally:
        with written(files):
            journal.close()


@contextmanager
def written(files: FileFlags) -> Iterator[None]:
    """A disk that takes no more is the file's fault, and what is there stays; raises BadFile."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        if files.path is None or isinstance(error, BrokenPipeError):
            raise
        what = f"{files.path} cannot be written: {error.strerror or error}"
        raise BadFile(f"{what}; {make_room(error)}, and run the same command again: it goes on") from error


def seed_of(files: FileFlags, given: int | None) -> int:
    """The seed given, else that of the run that goes on, else a fresh one."""
    from truedraw.generate.offline.settings import begun_with
    from truedraw.sampling.randomness import fresh_seed

    if given is not None:
        return given
    known = None if files.path is None or files.overwrite else begun_with(files.path, "seed")
    return known if isinstance(known, int) else fresh_seed()
