"""A file that one process at a time may write to."""

from __future__ import annotations

import os
from pathlib import Path

from truedraw.errors import BadFile
from truedraw.file_locks import is_free
from truedraw.whole_files import is_at

WRITABLE_FOLDER = "give a file in a folder that exists and may be written to"
OTHER_DISK = "give a file on another disk"
BINARY = getattr(os, "O_BINARY", 0)  # line breaks stay what they are, where that has to be said


def opened(path: Path, otherwise: str = "give another file") -> int:
    """The file, made if it is not there, to be read and appended to by us alone; raises BadFile.

    otherwise: what to do where another process writes to it.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o666)
    except OSError as error:
        raise BadFile(f"{path} cannot be written: {error.strerror}; {WRITABLE_FOLDER}") from error
    try:
        is_ours = is_free(file) and is_at(file, path)  # else another process has put another file there since
    except OSError as error:
        os.close(file)
        raise BadFile(f"{path} cannot be written: {error.strerror}; {OTHER_DISK}") from error
    if not is_ours:
        os.close(file)
        raise BadFile(f"{path} is being written by another process; wait for it, or {otherwise}")
    return file
