"""The GGUF container: header, metadata and where each tensor lies. Reads only the head of the file.

Layout (GGUF specification, versions 2 and 3, little endian): magic, version, number of tensors, number of
key-value pairs, the pairs, the tensor table, padding to the alignment, the data. The reader of the `gguf`
package takes two seconds for the vocabulary of a small model; this one takes a tenth of one and says what is
broken.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.ggml_types import Storage, storage_of
from truedraw.models.gguf_cursor import Cursor

MAGIC = b"GGUF"
VERSIONS, VERSION_BYTES = (2, 3), 4
NEVER_VERSION, NEVER_TYPE = 100, 1 << 10  # what is no version, no type, but damage
ALIGNMENT = 32  # bytes, where the metadata are silent
MAX_DIMENSIONS = 4  # of a ggml tensor
LEAST_PAIR_BYTES, LEAST_TENSOR_BYTES = 13, 24  # an empty name and the smallest entry

Found = TypeVar("Found")
Line = tuple[str, tuple[int, ...], int, int]
"""Name, shape, type number, offset within the data."""


class _UnknownType(Exception):
    """Of a tensor: newer than the installed package, or of another program."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One line of the tensor table."""

    name: str
    shape: tuple[int, ...]  # rows first, as numpy has it
    type_name: str  # "F32", "Q4_1", ...
    offset: int  # bytes from the start of the file
    num_bytes: int


@dataclass(frozen=True, slots=True)
class GGUFFile:
    """What the head of a GGUF file says."""

    path: Path
    metadata: dict[str, Any] = field(repr=False)
    tensors: dict[str, TensorInfo] = field(repr=False)

    def raw(self, name: str) -> NDArray[np.uint8]:
        """The bytes of a tensor, [rows, bytes of a row], mapped for as long as the array lives."""
        info = self.tensors[name]
        rows = int(np.prod(info.shape[:-1], dtype=np.int64))
        shape = (rows, info.num_bytes // rows)
        return np.memmap(self.path, np.uint8, mode="r", offset=info.offset, shape=shape)


def read_gguf(path: Path) -> GGUFFile:
    """Read the head and check that every tensor lies inside the file.

    Raises BadModelFile, and UnsupportedModel for one part of several.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
            if start != MAGIC:
                raise BadModelFile(f"{path} is not a GGUF file: it starts with {start!r}; give a .gguf file")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                _check_version(path, data)
                metadata, tensors = _whole_head(Cursor(data, len(MAGIC) + VERSION_BYTES))
    except _UnknownType as error:
        raise UnsupportedModel(
            f"{path}: {error}, which the installed gguf package does not know; convert the model anew, as to Q8_0"
        ) from error
    except OSError as error:
        raise BadModelFile(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        if isinstance(error, BadModelFile | UnsupportedModel):
            raise
        raise BadModelFile(f"{path} is broken or truncated: {error}; fetch it again") from error
    if metadata.get("split.count", 1) not in (0, 1):
        raise UnsupportedModel(f"{path} is one part of several; join them with llama-gguf-split --merge")
    return GGUFFile(path, metadata, tensors)


def _check_version(path: Path, data: mmap.mmap) -> None:
    """Raises UnsupportedModel for one that fetching again would not change, ValueError for none."""
    number = data[len(MAGIC) : len(MAGIC) + VERSION_BYTES]
    version, swapped = (int.from_bytes(number, order) for order in ("little", "big"))
    if version in VERSIONS or len(number) < VERSION_BYTES:
        return
    if swapped not in VERSIONS and not 0 < version < NEVER_VERSION:
        raise ValueError(f"version {version}")
    found = "in big-endian order" if swapped in VERSIONS else f"of version {version}"
    raise UnsupportedModel(
        f"{path} is a GGUF file {found}; versions 2 and 3 in little-endian order can be read: fetch such a one, or "
        "convert the model again with a current llama.cpp"
    )


def _whole_head(cursor: Cursor) -> tuple[dict[str, Any], dict[str, TensorInfo]]:
    """Raises ValueError where it makes no sense, or the file ends within it."""
    try:
        return _head(cursor)
    except struct.error as error:
        raise ValueError(f"a number at byte {cursor.position} of {len(cursor.data)}") from error


def _head(cursor: Cursor) -> tuple[dict[str, Any], dict[str, TensorInfo]]:
    num_tensors, num_pairs = cursor.count(LEAST_TENSOR_BYTES), cursor.count(LEAST_PAIR_BYTES)
    metadata = _named("metadata key", [cursor.pair() for _ in range(num_pairs)])
    lines = [_line(cursor) for _ in range(num_tensors)]
    alignment = metadata.get("general.alignment", ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError(f"alignment {alignment!r}")
    start = -(-cursor.position // alignment) * alignment
    tensors = _named("tensor", [(line[0], _placed(line, start, len(cursor.data))) for line in lines])
    _check_places(tensors.values(), start, alignment)
    return metadata, tensors


def _named(what: str, pairs: list[tuple[str, Found]]) -> dict[str, Found]:
    """By their names; raises ValueError for one that comes twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"{what} {name!r} comes twice")
    return found


def _check_places(tensors: Iterable[TensorInfo], start: int, alignment: int) -> None:
    """Raises ValueError for a tensor that does not begin where one may, or lies on another."""
    end, before = start, ""
    for tensor in sorted(tensors, key=attrgetter("offset")):
        if (tensor.offset - start) % alignment:
            raise ValueError(f"tensor {tensor.name!r} is no multiple of {alignment} bytes behind the head")
        if tensor.offset < end:
            raise ValueError(f"tensor {tensor.name!r} lies on {before!r}")
        end, before = tensor.offset + tensor.num_bytes, tensor.name


def _line(cursor: Cursor) -> Line:
    name, dimensions = cursor.string(), cursor.scalar("<I")
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise ValueError(f"tensor {name!r} has {dimensions} dimensions")
    shape = tuple(cursor.scalar("<Q") for _ in range(dimensions))[::-1]
    return name, shape, cursor.scalar("<I"), cursor.scalar("<Q")


def _placed(line: Line, start: int, file_bytes: int) -> TensorInfo:
    name, shape, kind, offset = line
    type_name, block_values, block_bytes = _storage(name, kind)
    if min(shape) < 1 or shape[-1] % block_values:
        raise ValueError(f"tensor {name!r} has the shape {list(shape)} in {type_name}")
    num_bytes = math.prod(shape) // block_values * block_bytes
    if start + offset + num_bytes > file_bytes:
        raise ValueError(f"tensor {name!r} ends at byte {start + offset + num_bytes} of {file_bytes}")
    return TensorInfo(name, shape, type_name, start + offset, num_bytes)


def _storage(name: str, kind: int) -> Storage:
    storage = storage_of(kind)
    if storage is None and kind >= NEVER_TYPE:
        raise ValueError(f"tensor {name!r} has type {kind}")
    if storage is None:
        raise _UnknownType(f"tensor {name!r} has type {kind}")
    return storage
