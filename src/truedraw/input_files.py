"""Files of texts or prompts: anything that comes to an end may be read, a pipe as well."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from stat import S_ISBLK, S_ISCHR
from typing import BinaryIO

from truedraw.errors import BadFile

STDIN = 0  # the descriptor
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # of UTF-8, which needs none


def opened(path: Path, named: str = "", hint: str = "give another file") -> BinaryIO:
    """To be read as bytes. Raises BadFile as `size_of`; messages call the file `named`."""
    size_of(path, named, hint)
    with readable(named or str(path), hint):
        return path.open("rb")


def size_of(path: Path, named: str = "", hint: str = "give another file") -> int:
    """In bytes, 0 of a pipe; raises BadFile where it is not there, and for a device, of which reading may never end."""
    named = named or str(path)
    with readable(named, hint):
        found = path.stat()
        _refuse_device(found, partial(_is_terminal, path), named)
        return found.st_size


def check_stdin() -> None:
    """Raises BadFile where it is a device of which reading may never end."""
    with suppress(OSError):  # none is there: whoever reads it will see
        _refuse_device(os.fstat(STDIN), partial(os.isatty, STDIN), "stdin")


def _refuse_device(found: os.stat_result, is_terminal: Callable[[], bool], named: str) -> None:
    """A terminal has an end, and nothing comes from the null device."""
    is_other = S_ISCHR(found.st_mode) and not _is_null(found) and not is_terminal()
    if S_ISBLK(found.st_mode) or is_other:
        raise BadFile(f"{named} cannot be read: it is a device; give a file, or a pipe")


def _is_null(found: os.stat_result) -> bool:
    """Windows numbers no devices: one that is no console is taken for it there."""
    return not hasattr(found, "st_rdev") or found.st_rdev == os.stat(os.devnull).st_rdev


def _is_terminal(path: Path) -> bool:
    with path.open("rb", buffering=0) as file:
        return file.isatty()


@contextmanager
def readable(named: str, hint: str = "give another file") -> Iterator[None]:
    """Inside, nothing but reading: an error of the system there is a BadFile."""
    try:
        yield
    except OSError as error:
        raise BadFile(f"{named} cannot be read: {error.strerror or error}; {hint}") from error
