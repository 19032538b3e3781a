"""A file of JSON lines that survives a kill: appended to, one whole line a result.

A line is handed to the system in one write, so that a killed process loses nothing it has finished and leaves at most
one line half written; opening the file again cuts that off. Against a loss of power the file is also forced to the
disk, at most once a second: what is lost then is computed again. Lines that are to go, as errors that are tried again,
go all at once, by another file in the place of this one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, BinaryIO

from truedraw.errors import BadFile
from truedraw.file_locks import may_replace_open
from truedraw.generate.offline.locking import opened
from truedraw.generate.offline.settings import ANEW, begin, check_removable, forget
from truedraw.whole_files import is_at, replacing

SYNC_SECONDS = 1.0  # between two waits for the disk
LONGEST_SHOWN = 40  # characters of a line that a message repeats
ESCAPED = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *range(0xD800, 0xE000))}
"""Control characters that JSON leaves, which could command a terminal, and halves of pairs, which UTF-8 cannot hold."""


class Journal:
    """The file at `path`, made if it is not there, in a run of these settings; nobody else may write to it meanwhile.

    What an earlier run of the same settings left is kept, unless `overwrite`: then it is gone with the first record, or
    with `renew` where there will be none, and not before, for a run may yet fail to begin. Raises BadFile where the
    file cannot be written, is something else, was begun with other settings (it is then left as it is) or is being
    written by another process. instead: what to do where settings are others.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], overwrite: bool = False, instead: str = ANEW) -> None:
        self.path = path
        if path.exists() and not path.is_file():
            raise BadFile(f"{path} is no regular file; give a file for the output, or - for stdout")
        is_new = not path.exists()
        self._file = opened(path)
        self._settings, self._is_old = settings, overwrite
        try:
            if overwrite:
                check_removable(path)
            else:
                begin(path, settings, instead)
                self._cut()
        except BaseException:
            if is_new and not os.fstat(self._file).st_size:
                with suppress(OSError):
                    path.resolve().unlink()  # of a link what it leads to: the link was there
            os.close(self._file)
            raise
        self._synced = monotonic()

    def records(self) -> Iterator[dict[str, Any]]:
        """What is there already, line by line; raises BadFile for a line that is no JSON object."""
        if not self._is_old:
            yield from read_records(self.path)

    def renew(self) -> None:
        """What is to be overwritten goes now; raises BadFile."""
        if self._is_old:
            os.ftruncate(self._file, 0)  # before the settings go: results never stand beside those of others
            forget(self.path)
            begin(self.path, self._settings)
            self._is_old = False

    def append(self, record: dict[str, Any]) -> None:
        """One more line. An error of the disk is an OSError."""
        self.renew()
        left = memoryview(to_line(record))
        while left:
            left = left[os.write(self._file, left) :]
        if monotonic() - self._synced > SYNC_SECONDS:
            self.sync()

    def drop(self, unwanted: Callable[[Mapping[str, Any]], bool]) -> None:
        """Leave these records out, all at once: a kill finds the file with all of them or without. Raises BadFile.

        Other names of the same file, by hard links, keep what it was.
        """
        if self._is_old or not any(map(unwanted, self.records())):
            return
        with self._giving_way(), replacing(self.path, then="make room, or give another file") as fresh:
            self._write_without(unwanted, fresh)

    def sync(self) -> None:
        """Wait until everything is on the disk; raises BadFile where that is no longer at `path`."""
        os.fsync(self._file)
        self._check_there()
        self._synced = monotonic()

    def close(self) -> None:
        """On the disk, and free for others, whatever the disk says."""
        try:
            self.sync()
        finally:
            os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_there(self) -> None:
        """What is written to a file that was removed is lost with the end of the process."""
        if not is_at(self._file, self.path):
            raise BadFile(
                f"{self.path} was removed or moved while results were written to it, and they went with it; run the "
                "same command again, with the file in its place if it is still somewhere"
            )

    def _write_without(self, unwanted: Callable[[Mapping[str, Any]], bool], fresh: Path) -> None:
        with self.path.open("rb") as lines, fresh.open("wb") as out:
            for number, line in enumerate(lines, start=1):
                if not unwanted(_record(line, self.path, number)):
                    out.write(line)

    @contextmanager
    def _giving_way(self) -> Iterator[None]:
        """The lock is held until the other file is there, for whoever had waited would write into nothing."""
        if may_replace_open():
            yield
            before, self._file = self._file, opened(self.path)
            os.close(before)
            return
        os.close(self._file)
        try:
            yield
        finally:
            self._file = opened(self.path)

    def _cut(self) -> None:
        """Drop what follows the last line break: a line that a killed process did not finish."""
        with _reading(self.path), self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            whole = _end_of_last_line(file, size)
        if whole < size:
            os.ftruncate(self._file, whole)
            os.fsync(self._file)


def to_line(record: dict[str, Any]) -> bytes:
    """Strict JSON in UTF-8, and a line break."""
    return json.dumps(record, allow_nan=False, ensure_ascii=False).translate(ESCAPED).encode() + b"\n"


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of such a file, whoever writes it; raises BadFile. An unfinished last line is left out."""
    with _reading(path), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                yield _record(line, path, number)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}") from error


def _record(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        shown = line[:LONGEST_SHOWN].decode(errors="replace").strip()
        raise BadFile(f"{path}, line {number}: {shown!r} is no result of ours; give another file for the output")
    return record


def _end_of_last_line(file: BinaryIO, size: int, block: int = 1 << 16) -> int:
    """Bytes up to and with the last line break."""
    end = size
    while end > 0:
        start = max(0, end - block)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
