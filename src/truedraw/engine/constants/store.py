"""Converted constants on disk: whole or absent, checked when opened."""

from __future__ import annotations

import errno
import json
import os
import weakref
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from truedraw.engine.constants.mapped import DATA, MappedConstants
from truedraw.engine.constants.replaced import INDEX, ORIGIN, Origin, drop_replaced
from truedraw.engine.constants.writing import Writing
from truedraw.errors import EngineError
from truedraw.models.cache import disk_hint, is_read_only, remove, staging
from truedraw.sampling.values import parsed

BLOCK_BYTES, PIECE_BYTES = 1 << 20, 1 << 25
Write = Callable[[Writing], None]


def open_stored(
    folder: Path, key: str, write: Write, origin: Origin, *, before: Callable[[], object] = lambda: None,
    elsewhere: bool = True,
) -> MappedConstants:  # fmt: skip
    """The arrays kept under `key`; where they are missing or damaged, `write` writes them first.

    `before` is called before a conversion; after one, what it replaces is removed. In a folder that may not be written
    to they are kept for this process alone, and `not_kept` says so, unless nothing is to be written `elsewhere`. Raises
    EngineError where they cannot be written; then nothing is left behind.
    """
    if whole(folder / key):
        with suppress(FileNotFoundError):  # replaced by another process, just now
            return MappedConstants(folder / key)
    before()
    try:
        found = _stored(folder, key, write, origin)
    except OSError as error:
        if not (elsewhere and is_read_only(error)):
            raise EngineError(f"the converted weights could not be stored in {folder}: {disk_hint(error)}") from error
        return _for_now(write, origin, f"{folder}: {error.strerror}")
    drop_replaced(folder, key, origin)
    return found


def _stored(folder: Path, key: str, write: Write, origin: Origin) -> MappedConstants:
    """Opened while nobody else may remove them."""
    entry = folder / key
    with staging(folder, key, f"converts {origin.path}") as corner:
        if not whole(entry):  # another process may have been faster
            _make_way(entry)
            _write(corner / key, write, origin)
            os.replace(corner / key, entry)
        return MappedConstants(entry)


def _make_way(entry: Path) -> None:
    """Remove what is damaged; raises PermissionError where it stays, as another user's does."""
    remove(entry)
    if entry.exists():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(entry))


def _for_now(write: Write, origin: Origin, why: str) -> MappedConstants:
    """Constants in a temporary folder, gone once they are mapped, or with them where a mapped file must stay.

    Raises EngineError.
    """
    corner = None
    try:
        corner = Path(mkdtemp(prefix="truedraw-"))
        _write(corner / "entry", write, origin)
        constants = MappedConstants(corner / "entry")
    except BaseException as error:
        if corner is not None:
            remove(corner)
        if not isinstance(error, OSError):
            raise
        where = corner or "a temporary folder"
        raise EngineError(
            f"the converted weights could not be stored, neither in {why} nor in {where}: {disk_hint(error)}"
        ) from error
    constants.not_kept = why
    remove(corner)
    if corner.exists():
        weakref.finalize(constants, remove, corner)
    return constants


def whole(entry: Path) -> bool:
    """Whether the data are what was once written there; a second for 1.5 GB."""
    try:
        index, data = parsed((entry / INDEX).read_bytes()), entry / DATA
        return bool(
            index["table"] == _table(index["arrays"])
            and (index["bytes"], index["sums"]) == (data.stat().st_size, _sums(data))
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _write(entry: Path, write: Write, origin: Origin) -> None:
    entry.mkdir()
    with (entry / DATA).open("wb") as file:
        writing = Writing(file)
        write(writing)
        size = file.tell()
    index = {
        "bytes": size,
        "sums": _sums(entry / DATA),
        ORIGIN: origin._asdict(),
        "table": _table(writing.table),
        "arrays": writing.table,
    }
    (entry / INDEX).write_text(json.dumps(index))


def _table(arrays: dict[str, Any]) -> int:
    """A checksum of where the arrays lie."""
    return zlib.crc32(json.dumps(arrays, sort_keys=True).encode())


def _sums(path: Path) -> list[int]:
    """Checksums of its pieces, by as many threads as there are processors."""
    starts = range(0, path.stat().st_size, PIECE_BYTES)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(partial(_sum_of_piece, path), starts))


def _sum_of_piece(path: Path, start: int) -> int:
    value = 0
    with path.open("rb") as file:
        file.seek(start)
        for _ in range(PIECE_BYTES // BLOCK_BYTES):
            value = zlib.crc32(file.read(BLOCK_BYTES), value)
    return value
