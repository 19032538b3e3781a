"""An index file, open for look-ups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from truedraw.draft.index.header import Header, read_header
from truedraw.draft.index.layout import Segment, Words, check_regular, check_segments
from truedraw.draft.index.segments import mapped
from truedraw.errors import BadFile
from truedraw.protocol import Ints

CHECKED_BYTES = 1 << 30  # of a file that is read in full when it is opened: a second at most, and its pages are there
MOST_OPEN = 4  # files kept open for the next request


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """The words of a file, and where its segments lie."""

    header: Header
    words: Words  # of the whole file
    segments: Ints  # [segments, 4], the columns of lookup.py; the newest first


def open_index(path: Path) -> Mapped:
    """Maps it; reads nothing but headers, and up to CHECKED_BYTES once to compare checksums. Raises BadFile.

    A file that has not changed since is not opened again.
    """
    with _reading(path):
        check_regular(path)
        facts = path.stat()
        return _open(path, (facts.st_ino, facts.st_size, facts.st_mtime_ns))


def checked_header(path: Path) -> Header:
    """Reads the whole file; raises BadFile."""
    with _reading(path):
        check_regular(path)
        with path.open("rb") as file:
            header = read_header(file, path)
            check_segments(mapped(file, 0, header.end), header.segments, path)
            return header


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise BadFile(f"{path} is not there; `truedraw index build` makes it") from None
    except BadFile:
        raise
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a name with a zero byte, or half a surrogate pair
        raise BadFile(f"{str(path)!r} is no file's name ({error}); give the path of an index") from error


@lru_cache(maxsize=MOST_OPEN)
def _open(path: Path, version: tuple[int, int, int]) -> Mapped:
    with path.open("rb") as file:
        header = read_header(file, path)
        words = mapped(file, 0, header.end)
        if version[1] <= CHECKED_BYTES:
            check_segments(words, header.segments, path)
        return Mapped(header, words, table(header.segments))


def table(segments: Sequence[Segment]) -> Ints:
    """For lookup.py."""
    rows = [(s.start, s.start + s.num_tokens, s.num_tokens, s.num_suffixes) for s in reversed(segments)]
    return np.array(rows, np.int64).reshape(len(rows), 4)
