"""Where fetched models lie: one folder a model, complete or absent."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from truedraw.errors import BadFile, PullError
from truedraw.file_locks import WAITS, is_free, wait_for
from truedraw.home_folder import expanded
from truedraw.whole_files import FULL

STAGING = ".staging"  # unfinished work; nothing in it is ever read
PART = ".part"  # behind the name of such work
PID_BYTES = 20  # at most
ELSEWHERE = "choose another cache folder (--cache FOLDER; cache= in Python)"
WRITABLE = "choose a cache folder that you may write to (--cache FOLDER; cache= in Python)"


def cache_root(cache: Path | None) -> Path:
    """The given folder, or the user's own; raises BadFile where that takes a home folder that is not known."""
    if cache is not None:
        return expanded(cache)
    from platformdirs import user_cache_path

    try:
        return expanded(user_cache_path("truedraw"))
    except RuntimeError as error:
        raise BadFile(f"your cache folder is not known ({error}); {ELSEWHERE}") from error


def models_folder(cache: Path | None) -> Path:
    """Holds a folder for every fetched model."""
    return cache_root(cache) / "models"


def folder_name(name: str) -> str:
    """A model's folder: "org/name" needs a name without a slash."""
    return name.replace("/", "--")


def is_fetched(folder: Path) -> bool:
    """Whether it is a folder that holds something, or that nobody may look into."""
    try:
        return folder.is_dir() and any(folder.iterdir())
    except OSError:
        return True


def remove(path: Path) -> None:
    """A file, or a folder with all that is in it; what cannot be removed stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink()


@contextmanager
def staging(models: Path, name: str, work: str = "") -> Iterator[Path]:
    """An empty folder for unfinished work on one model, under a lock that only one process holds.

    Whoever waits for that longer than a moment is told of the `work`: "fetches org/name".
    Whoever gets the lock sweeps away what interrupted processes left, of this name and of others. The folder is gone
    afterwards, whatever happens.
    """
    corner = models / STAGING
    corner.mkdir(parents=True, exist_ok=True)
    with (corner / f"{folder_name(name)}.lock").open("a+b") as lock:
        wait_for(lock.fileno(), lambda: WAITS.tell(work or f"works on {name}", _holder(lock)))
        _sign(lock)
        folder = corner / f"{folder_name(name)}{PART}"  # this name's alone, as the lock is
        remove(folder)
        _sweep(corner)
        folder.mkdir()
        try:
            yield folder
        finally:
            remove(folder)


def _sign(lock: BinaryIO) -> None:
    """Put this process's number into its lock."""
    with suppress(OSError):  # a full disk, say: then nobody knows it
        os.ftruncate(lock.fileno(), 0)
        os.write(lock.fileno(), str(os.getpid()).encode())


def _holder(lock: BinaryIO) -> int | None:
    """The number in a lock, of the process that has it; None where that one has not signed, so that it is another's."""
    with suppress(OSError, ValueError):
        lock.seek(0)
        number = int(lock.read(PID_BYTES))
        return None if _is_over(number) else number
    return None


def _is_over(process: int) -> bool:
    """Whether no process has this number, as far as the system tells without sending it anything."""
    try:
        if os.name == "posix":
            os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass  # another user's
    return False


def _sweep(corner: Path) -> None:
    """Remove the work whose lock nobody holds; the lock is held meanwhile."""
    for part in corner.glob(f"*{PART}"):
        with suppress(OSError), part.with_suffix(".lock").open("a+b") as lock:
            if is_free(lock.fileno()):
                remove(part)


@contextmanager
def disk_errors(name: str, where: Path) -> Iterator[None]:
    """Turns an OSError into a PullError that says what to do."""
    try:
        yield
    except OSError as error:
        raise PullError(f"{name} could not be stored in {where}: {disk_hint(error)}") from error


def disk_hint(error: OSError) -> str:
    """What a disk refused, and what to do about it."""
    if error.errno in FULL:
        return f"the disk is full; free some space or {ELSEWHERE}"
    if error.errno == errno.EFBIG:
        return f"{error.strerror}; raise the limit on the size of a file (ulimit -f) or {ELSEWHERE}"
    if is_read_only(error):
        return f"{error.strerror}; {WRITABLE}"
    return f"{error.strerror or error}; {ELSEWHERE}"


def is_read_only(error: OSError) -> bool:
    """Whether the folder is one that this user may not write to."""
    return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
