"""Where fetched models lie: one folder a model, complete or absent."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from truedraw.errors import PullError

STAGING = ".staging"  # unfinished work; nothing in it is ever read
FULL = (errno.ENOSPC, errno.EDQUOT)
RETRY_SECONDS = 0.5  # between two looks at a lock on systems that cannot wait for one


def cache_root(cache: Path | None) -> Path:
    """The given folder, or the user's own."""
    if cache is not None:
        return cache.expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("truedraw")


def models_folder(cache: Path | None) -> Path:
    """Holds a folder for every fetched model."""
    return cache_root(cache) / "models"


def folder_name(name: str) -> str:
    """A model's folder: "org/name" needs a name without a slash."""
    return name.replace("/", "--")


@contextmanager
def staging(models: Path, name: str) -> Iterator[Path]:
    """An empty folder for unfinished work on one model, under a lock that only one process holds.

    Whoever gets the lock sweeps away what an interrupted process left. The folder is gone
    afterwards, whatever happens.
    """
    corner = models / STAGING
    corner.mkdir(parents=True, exist_ok=True)
    with (corner / f"{folder_name(name)}.lock").open("a+b") as lock:
        _wait_for(lock)
        folder = corner / f"{folder_name(name)}.part"  # this name's alone, as the lock is
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


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
        return "the disk is full; free some space or choose another cache folder"
    if error.errno == errno.EFBIG:
        return f"{error.strerror}; raise the limit on the size of a file (ulimit -f) or choose another cache folder"
    if is_read_only(error):
        return f"{error.strerror}; choose a cache folder that you may write to"
    return f"{error.strerror or error}; choose another cache folder"


def is_read_only(error: OSError) -> bool:
    """Whether the folder is one that this user may not write to."""
    return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)


def _wait_for(lock: IO[bytes]) -> None:
    """Hold the lock until the file is closed; the system drops it when a process dies."""
    try:
        import fcntl
    except ImportError:
        _wait_for_on_windows(lock)
    else:
        fcntl.flock(lock, fcntl.LOCK_EX)


def _wait_for_on_windows(lock: IO[bytes]) -> None:
    import importlib
    import time

    msvcrt = importlib.import_module("msvcrt")
    while True:
        lock.seek(0)
        try:
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            time.sleep(RETRY_SECONDS)
        else:
            return
