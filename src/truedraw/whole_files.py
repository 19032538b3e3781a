"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from truedraw.errors import BadFile


def check_folder(path: Path, named: str) -> None:
    """Before the work whose result it is to hold; raises BadFile where no file could be written there."""
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise BadFile(f"{named} cannot be written: give a file in a folder that exists and may be written to")


@contextmanager
def replacing(path: Path, named: str = "", then: str = "give another file") -> Iterator[Path]:
    """A path beside this one, to be written to; once that is on the disk it takes this one's place.

    Where it cannot be written, or something else is raised meanwhile, nothing of it stays and what was there is there
    still. Raises BadFile, which calls the file `named` and says what to do `then`.
    """
    fresh = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield fresh
        _to_disk(fresh)
        fresh.replace(path)
    except OSError as error:
        raise BadFile(f"{named or path} cannot be written: {error.strerror or error}; {then}") from error
    finally:
        with suppress(OSError):
            fresh.unlink()


def _to_disk(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())
