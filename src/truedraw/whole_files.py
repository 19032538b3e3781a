"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from stat import S_IMODE, S_IRUSR, S_IWUSR
from threading import get_native_id
from time import sleep, time

from truedraw.errors import BadFile

LONGEST_STEM = 200  # bytes, of the 255 that a name may have nearly everywhere
FULL = (errno.ENOSPC, errno.EDQUOT)
ROOM, FOLDER = "free some space or give a file on another disk", "give a file in a folder that exists"
HINTS = {**dict.fromkeys(FULL, ROOM), **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), FOLDER)}
HINTS |= {errno.EFBIG: "raise the limit on the size of a file (ulimit -f)", errno.EEXIST: "another process was faster"}
LIMIT = HINTS[errno.EFBIG]
OURS = S_IRUSR | S_IWUSR  # to read and to write
PART = ".truedraw.part"  # how their names end until then: no file of somebody else's is called so
PAUSES = (0.01, 0.03, 0.1, 0.3, 1.0)  # seconds, see _replace
STALE_SECONDS = 3600.0  # since anything was written to a part: whoever wrote it was killed


def check_folder(path: Path, named: str) -> None:
    """Before the work whose result it is to hold; raises BadFile where no file could be written there."""
    with _told(named):
        check_kind(path, named)
        folder = behind_links(path).parent
    if not is_writable(folder):
        raise BadFile(f"{named} cannot be written: give a file in a folder that exists and may be written to")


def is_writable(folder: Path) -> bool:
    """Whether it is a folder in which files may be made."""
    return folder.is_dir() and os.access(folder, os.W_OK)


def behind_links(path: Path) -> Path:
    """Where it lies, or would; of links that lead in a circle one of them."""
    return Path(os.path.realpath(path))


def is_at(file: int, path: Path) -> bool:
    """Whether an open file is still the one of that name: it may have been removed, or replaced, since."""
    return path.exists() and os.path.samestat(os.fstat(file), path.stat())


@contextmanager
def replacing(path: Path, named: str = "", then: str = "", anew: bool = False) -> Iterator[Path]:
    """A path beside this one, to be written to; once that is on the disk it takes this one's place.

    Where it cannot be written, or something else is raised meanwhile, nothing of it stays and what was there is there
    still; with `anew` that is an error, also for what came there meanwhile. A link stays one: the file that it leads to
    is replaced. Raises BadFile, which calls the file `named` and says what to do `then`, without one what fits the
    error.
    """
    named = named or str(path)
    with _told(named, then):
        check_kind(path, named)
        target = behind_links(path)
        sweep(target)
        fresh = part_of(target)
        try:
            keep_mode(target, fresh, OURS)
            yield fresh
            to_disk(fresh)
            keep_mode(target, fresh)
            _put(fresh, target, anew)
        finally:
            with suppress(OSError):
                fresh.unlink()
        with suppress(OSError):  # not every system opens folders
            to_disk(target.parent, os.O_RDONLY)


def write_text(path: Path, text: str, named: str = "", then: str = "") -> None:
    """As `replacing`, in UTF-8; half a surrogate pair, which that cannot hold, becomes a question mark."""
    with replacing(path, named, then) as fresh:
        fresh.write_text(text, encoding="utf-8", errors="replace")


def keep_mode(target: Path, fresh: Path, more: int = 0) -> None:
    """What takes the place of a file may be read by the same people, from its beginning on; `more` is allowed too."""
    if target.exists():
        fresh.touch(mode=OURS)
        fresh.chmod(S_IMODE(target.stat().st_mode) | more)


def _put(fresh: Path, target: Path, anew: bool) -> None:
    if anew:
        try:
            os.link(fresh, target)  # unlike a change of names, it fails where something is
            return
        except OSError as error:
            if error.errno == errno.EEXIST:
                raise
    _replace(fresh, target)


def _replace(fresh: Path, target: Path) -> None:
    """Windows refuses it while somebody else does the same, or looks at what is there: once more a little later."""
    for pause in PAUSES:
        try:
            fresh.replace(target)
            return
        except PermissionError:
            if os.name != "nt":
                raise
            sleep(pause)
    fresh.replace(target)


@contextmanager
def _told(named: str, then: str = "") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = make_room(error, then) or HINTS.get(error.errno or 0, "give another file")
        raise BadFile(f"{named} cannot be written: {error.strerror or error}; {hint}") from error


def make_room(error: OSError, otherwise: str = "make room") -> str:
    """What to do where a file could not be written: room is no help against a limit on its size."""
    return LIMIT if error.errno == errno.EFBIG else otherwise


def check_kind(path: Path, named: str) -> None:
    """A device or a pipe is nobody's to replace; raises BadFile."""
    if path.exists() and not path.is_file():
        raise BadFile(f"{named} cannot be written: it is no regular file; give another one")


def _stem(target: Path) -> str:
    """What the names of its parts begin with: its own, unless no system would take a longer one."""
    name = target.name[:LONGEST_STEM]
    while len(os.fsencode(name)) > LONGEST_STEM:
        name = name[:-1]
    return name


def part_of(target: Path) -> Path:
    """What is to take its place, under a name that only this thread uses."""
    return target.with_name(f"{_stem(target)}.{os.getpid()}-{get_native_id()}{PART}")


def sweep(target: Path) -> None:
    """Remove the parts of it that killed processes left."""
    for part in target.parent.glob(f"{escape(_stem(target))}.*{PART}"):
        with suppress(OSError):
            if time() - part.stat().st_mtime > STALE_SECONDS:
                part.unlink()


def to_disk(path: Path, how: int = os.O_RDWR) -> None:
    """Wait until what was written there would outlive a loss of power."""
    file = os.open(path, how)
    try:
        os.fsync(file)
    finally:
        os.close(file)
