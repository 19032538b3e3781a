"""A cheap identity of a model's files, for cache keys."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from time import time

from truedraw.errors import BadModelFile

SAMPLES = 64  # blocks read from a file, evenly spread; the first and the last one always
BLOCK_BYTES = 1 << 14  # two models that differ only outside one megabyte of samples do not occur by training
TICK_SECONDS = 2.0  # the coarsest clock of a file system


def fingerprint(files: Iterable[Path], named: bool = True) -> str:
    """32 hexadecimal digits from names (unless not `named`), sizes and samples of the files.

    Reads one megabyte a file at most.
    """
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda path: os.fsencode(path.name)):
        size = file.stat().st_size
        digest.update((os.fsencode(file.name) if named else b"") + f"\0{size}\0".encode())
        _sample(file, size, digest.update)
    return digest.hexdigest()[:32]


def stamp(files: Iterable[Path]) -> str:
    """Where the files lie on the disk and when they were last changed in any way, which no program can set.

    Empty where that was just now: the next change may be too soon for the clock.
    """
    found = [file.stat() for file in files]
    if any(abs(time() - each.st_ctime) < TICK_SECONDS for each in found):
        return ""
    return " ".join(f"{each.st_ino}-{each.st_size}-{each.st_mtime_ns}-{each.st_ctime_ns}" for each in found)


def digest_of(file: Path) -> str:
    """The sha256 of all its bytes, hexadecimal; raises BadModelFile where they cannot be read."""
    try:
        with file.open("rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise BadModelFile(f"{file} cannot be read: {error.strerror or error}") from error


def _sample(file: Path, size: int, update: Callable[[bytes], None]) -> None:
    last = max(0, size - BLOCK_BYTES)
    with file.open("rb") as data:
        for start in sorted({last * step // (SAMPLES - 1) for step in range(SAMPLES)}):
            data.seek(start)
            update(data.read(BLOCK_BYTES))
