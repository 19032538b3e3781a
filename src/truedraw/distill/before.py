"""A head that is trained further, as it was when its plan was made."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from truedraw.draft.head.file import HeadFile
from truedraw.errors import BadFile
from truedraw.models.fingerprint import fingerprint


class Before(NamedTuple):
    """What was read of it: the file may go while texts are written."""

    file: HeadFile
    fingerprint: str  # of the contents


def read_before(path: Path) -> Before:
    """Raises BadFile."""
    file = HeadFile(path)
    try:
        return Before(file, fingerprint([path], named=False))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}; give another head") from error
