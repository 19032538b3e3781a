"""Files of texts or prompts: anything that comes to an end may be read, a pipe as well."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISBLK, S_ISCHR
from typing import BinaryIO

from truedraw.errors import BadFile

STDIN = Path("/dev/stdin")


def opened(path: Path, named: str = "", hint: str = "give another file") -> BinaryIO:
    """To be read as bytes. Raises BadFile as `size_of`; messages call the file `named`."""
    size_of(path, named, hint)
    try:
        return path.open("rb")
    except OSError as error:
        raise unreadable(named or str(path), error, hint) from error


def size_of(path: Path, named: str = "", hint: str = "give another file") -> int:
    """In bytes, 0 of a pipe; raises BadFile where it is not there, and for a device, of which reading may never end."""
    named = named or str(path)
    try:
        found = path.stat()
        if S_ISBLK(found.st_mode) or (S_ISCHR(found.st_mode) and not _has_end(path, found)):
            raise BadFile(f"{named} cannot be read: it is a device; give a file, or a pipe")
        return found.st_size
    except OSError as error:
        raise unreadable(named, error, hint) from error


def check_stdin(named: str) -> None:
    """Raises BadFile where it is a device of which reading may never end."""
    if STDIN.exists():  # not every system has such a name
        size_of(STDIN, named)


def unreadable(named: str, error: OSError, hint: str = "give another file") -> BadFile:
    """What to raise for it."""
    return BadFile(f"{named} cannot be read: {error.strerror or error}; {hint}")


def _has_end(path: Path, device: os.stat_result) -> bool:
    """A terminal has one, and nothing comes from the null device."""
    if device.st_rdev == os.stat(os.devnull).st_rdev:
        return True
    with path.open("rb", buffering=0) as file:
        return file.isatty()
