"""Converted constants on disk: whole or absent, checked when opened."""

from __future__ import annotations

import json
import os
import shutil
import weakref
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.mapped import DATA, MappedConstants
from truedraw.engine.constants.replaced import INDEX, ORIGIN, Origin, drop_replaced
from truedraw.engine.constants.weights import Constants, stacks, vectors
from truedraw.errors import BadFile, EngineError
from truedraw.models.cache import disk_hint, is_read_only, staging
from truedraw.models.fingerprint import Contents
from truedraw.protocol import ModelConfig
from truedraw.whole_files import replacing

STAMPS = "stamps"  # in an index: of the model's files, by the path that they were found under
ALIGNMENT = 64  # bytes: a cache line, as the kernels like it
BLOCK_BYTES = 1 << 20


class Source(NamedTuple):
    """What constants are converted from."""

    constants: Constants
    contents: Contents
    origin: Origin


def open_stored(
    folder: Path, key: str, config: ModelConfig, source: Source, *, before: Callable[[], object] = lambda: None
) -> MappedConstants:
    """The constants kept under `key`, converted from `source` and written first where missing, damaged, or another's.

    `before` is called before a conversion; after one, what it replaces is removed. In a folder that may not be written
    to they are kept for this process alone, and `not_kept` says so. Raises EngineError where they cannot be written;
    then nothing is left behind.
    """
    if whole(folder / key, source.contents):
        with suppress(FileNotFoundError):  # replaced by another process, just now
            return MappedConstants(folder / key)
    before()
    try:
        found = _stored(folder, key, config, source)
    except OSError as error:
        if not is_read_only(error):
            raise EngineError(f"the converted weights could not be stored in {folder}: {disk_hint(error)}") from error
        return _for_now(config, source, f"{folder}: {error.strerror}")
    drop_replaced(folder, key, source.origin)
    return found


def _stored(folder: Path, key: str, config: ModelConfig, source: Source) -> MappedConstants:
    """Opened while nobody else may remove them."""
    entry = folder / key
    with staging(folder, key) as corner:
        if not whole(entry, source.contents):  # another process may have been faster
            _write(corner / key, config, source)
            shutil.rmtree(entry, ignore_errors=True)
            os.replace(corner / key, entry)
        return MappedConstants(entry)


def _for_now(config: ModelConfig, source: Source, why: str) -> MappedConstants:
    """Constants in a temporary folder, which goes with them; raises EngineError."""
    corner = Path(mkdtemp(prefix="truedraw-"))
    try:
        _write(corner / "entry", config, source)
        constants = MappedConstants(corner / "entry")
    except BaseException as error:
        shutil.rmtree(corner, ignore_errors=True)
        if not isinstance(error, OSError):
            raise
        raise EngineError(
            f"the converted weights could not be stored, neither in {why} nor in {corner}: {disk_hint(error)}"
        ) from error
    constants.not_kept = why
    weakref.finalize(constants, shutil.rmtree, corner, ignore_errors=True)
    return constants


def whole(entry: Path, contents: Contents) -> bool:
    """Whether the data are what was once written there, and of what the model's files now hold.

    Under a tenth of a second for 135 MB, and once more where the files were touched.
    """
    try:
        index = json.loads((entry / INDEX).read_text())
        data = entry / DATA
        return bool(
            index["table"] == _table(index["arrays"])
            and (index["crc"], index["bytes"]) == (_crc(data), data.stat().st_size)
            and _is_of(index, entry, contents)
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _is_of(index: dict[str, Any], entry: Path, contents: Contents) -> bool:
    """Whether it was made of these contents; if it was, the next one to ask need not read them."""
    stamp = contents.stamp()
    if stamp and index[STAMPS].get(contents.path) == stamp:
        return True
    if index["source"] != contents.checksum():
        return False
    index[STAMPS] = {**index[STAMPS], contents.path: stamp}
    with suppress(BadFile), replacing(entry / INDEX) as fresh:
        fresh.write_text(json.dumps(index))
    return True


def _write(entry: Path, config: ModelConfig, source: Source) -> None:
    """One stack after the other, so that memory holds one at a time."""
    entry.mkdir()
    origin, contents = source.origin._asdict(), source.contents
    about = {ORIGIN: origin, STAMPS: {contents.path: contents.stamp()}, "source": contents.checksum()}
    arrays: dict[str, Any] = {}
    with (entry / DATA).open("wb") as file:
        for names in stacks(config):
            _write_stack(file, arrays, names, source.constants)
        for name in vectors(config):
            _write_array(file, arrays, f"{name}:values", source.constants.vector(name), 0)
        size = file.tell()
    index = {"bytes": size, "crc": _crc(entry / DATA), **about, "table": _table(arrays), "arrays": arrays}
    (entry / INDEX).write_text(json.dumps(index))


def _table(arrays: dict[str, Any]) -> int:
    """A checksum of where the arrays lie."""
    return zlib.crc32(json.dumps(arrays, sort_keys=True).encode())


def _write_stack(file: IO[bytes], index: dict[str, Any], names: tuple[str, ...], source: Constants) -> None:
    """The stack, or its matrices one by one where their forms differ."""
    matrix = source.matrix(names)
    if matrix is None:
        for name in names:
            _write_stack(file, index, (name,), source)
        return
    key = "+".join(names)
    _write_array(file, index, f"{key}:values", matrix.values, matrix.zero)
    for name, numbers in (("scales", matrix.scales), ("least", matrix.least)):
        if numbers is not None:
            _write_array(file, index, f"{key}:{name}", numbers, 0)


def _write_array(file: IO[bytes], index: dict[str, Any], key: str, array: NDArray[Any], zero: int) -> None:
    file.write(bytes(-file.tell() % ALIGNMENT))
    index[key] = {
        "offset": file.tell(),
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "zero": zero,
    }
    file.write(np.ascontiguousarray(array).data)


def _crc(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            value = zlib.crc32(block, value)
    return value
