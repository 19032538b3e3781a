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
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.mapped import DATA, MappedConstants
from truedraw.engine.constants.replaced import INDEX, ORIGIN, Origin, drop_replaced
from truedraw.engine.constants.weights import Constants, stacks, vectors
from truedraw.errors import EngineError
from truedraw.models.cache import disk_hint, is_read_only, staging
from truedraw.protocol import ModelConfig

ALIGNMENT = 64  # bytes: a cache line, as the kernels like it
BLOCK_BYTES = 1 << 20


def open_stored(
    folder: Path, key: str, config: ModelConfig, source: Constants, origin: Origin, *,
    before: Callable[[], object] = lambda: None,
) -> MappedConstants:  # fmt: skip
    """The constants kept under `key`, converted from `source` and written first where missing or damaged.

    `before` is called before a conversion; after one, what it replaces is removed. In a folder that may not be written
    to they are kept for this process alone, and `not_kept` says so. Raises EngineError where they cannot be written;
    then nothing is left behind.
    """
    if whole(folder / key):
        with suppress(FileNotFoundError):  # replaced by another process, just now
            return MappedConstants(folder / key)
    before()
    try:
        found = _stored(folder, key, config, source, origin)
    except OSError as error:
        if not is_read_only(error):
            raise EngineError(f"the converted weights could not be stored in {folder}: {disk_hint(error)}") from error
        return _for_now(config, source, origin, f"{folder}: {error.strerror}")
    drop_replaced(folder, key, origin)
    return found


def _stored(folder: Path, key: str, config: ModelConfig, source: Constants, origin: Origin) -> MappedConstants:
    """Opened while nobody else may remove them."""
    entry = folder / key
    with staging(folder, key) as corner:
        if not whole(entry):  # another process may have been faster
            _write(corner / key, config, source, origin)
            shutil.rmtree(entry, ignore_errors=True)
            os.replace(corner / key, entry)
        return MappedConstants(entry)


def _for_now(config: ModelConfig, source: Constants, origin: Origin, why: str) -> MappedConstants:
    """Constants in a temporary folder, which goes with them; raises EngineError."""
    corner = Path(mkdtemp(prefix="truedraw-"))
    try:
        _write(corner / "entry", config, source, origin)
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


def whole(entry: Path) -> bool:
    """Whether the data are what was once written there; under a tenth of a second for 135 MB."""
    try:
        index, data = json.loads((entry / INDEX).read_text()), entry / DATA
        return bool(
            index["table"] == _table(index["arrays"])
            and (index["crc"], index["bytes"]) == (_crc(data), data.stat().st_size)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _write(entry: Path, config: ModelConfig, source: Constants, origin: Origin) -> None:
    """One stack after the other, so that memory holds one at a time."""
    entry.mkdir()
    arrays: dict[str, Any] = {}
    with (entry / DATA).open("wb") as file:
        for names in stacks(config):
            _write_stack(file, arrays, names, source)
        for name in vectors(config):
            _write_array(file, arrays, f"{name}:values", source.vector(name), 0)
        size = file.tell()
    index = {
        "bytes": size,
        "crc": _crc(entry / DATA),
        ORIGIN: origin._asdict(),
        "table": _table(arrays),
        "arrays": arrays,
    }
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
