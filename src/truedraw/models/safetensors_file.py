"""One safetensors file, read without torch.

It is the length of its header (8 bytes, little endian), the header (JSON: name -> dtype, shape, data_offsets) and the
data. The numpy side of the safetensors package has no bfloat16, hence this reader.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.layout import Shape
from truedraw.protocol import Ints

MAX_HEADER_BYTES = 100_000_000  # the format's own limit


def _from_bfloat16(raw: NDArray[Any]) -> NDArray[np.float32]:
    return (raw.astype(np.uint32) << 16).view(np.float32)


def _to_float32(raw: NDArray[Any]) -> NDArray[np.float32]:
    return raw.astype(np.float32)


DTYPES: dict[str, tuple[str, Callable[[NDArray[Any]], NDArray[np.float32]]]] = {
    "F32": ("<f4", _to_float32),
    "F16": ("<f2", _to_float32),
    "BF16": ("<u2", _from_bfloat16),
}
SAME_NUMBERS = 1 << 20  # compared at once
INTEGERS = {"I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "?"}
"""What maps of tokens are stored as, beside the weights of a draft."""
Line = tuple[str, Shape, int, int]
"""Of a header: dtype, shape, first byte within the data and the one behind the last."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where a tensor lies."""

    path: Path
    dtype: str  # "F32", "F16" or "BF16"; where they were asked for, one of INTEGERS
    shape: Shape
    offset: int  # bytes from the start of the file

    def dense(self) -> NDArray[np.float32]:
        """Its numbers."""
        dtype, convert = DTYPES[self.dtype]
        return convert(np.memmap(self.path, dtype, mode="r", offset=self.offset, shape=self.shape))

    def parts(self, rows: int) -> tuple[int, Iterator[NDArray[np.float32]]]:
        """Of a matrix: how many rows it has, and its numbers, so many rows at once."""
        dtype, convert = DTYPES[self.dtype]
        raw = np.memmap(self.path, dtype, mode="r", offset=self.offset, shape=self.shape)
        return len(raw), (convert(raw[at : at + rows]) for at in range(0, len(raw), rows))

    def same(self, other: StoredTensor) -> bool:
        """Whether the other one holds the same numbers; a block at a time, so neither is ever in memory."""
        if self.shape != other.shape:
            return False
        blocks = range(0, math.prod(self.shape), SAME_NUMBERS)
        return all(np.array_equal(self._bits(at), other._bits(at)) for at in blocks)

    def _bits(self, start: int) -> NDArray[np.uint32]:
        """SAME_NUMBERS of them from there on, or as many as there are, as float32."""
        dtype, convert = DTYPES[self.dtype]
        count = min(SAME_NUMBERS, math.prod(self.shape) - start)
        at = self.offset + start * np.dtype(dtype).itemsize
        return convert(np.memmap(self.path, dtype, mode="r", offset=at, shape=count)).view(np.uint32)

    def integers(self) -> Ints:
        """The numbers of one of INTEGERS."""
        dtype = INTEGERS[self.dtype]
        return np.memmap(self.path, dtype, mode="r", offset=self.offset, shape=self.shape).astype(np.int64)


def read_header(path: Path, *, integers: bool = False) -> dict[str, StoredTensor]:
    """The tensors of one file by their names; raises BadModelFile, UnsupportedModel.

    `integers`: there may be some beside the floats.
    """
    lines, span = _lines(path)
    known = known_kinds(integers=integers)
    found = {name: _place(path, name, line, span, known) for name, line in lines.items()}
    _check_length(path, lines, span)
    return found


def known_kinds(*, integers: bool) -> dict[str, str]:
    """Kinds of numbers that are read, and what numpy calls them."""
    return {name: kind for name, (kind, _) in DTYPES.items()} | (INTEGERS if integers else {})


def check_length(path: Path) -> None:
    """Raises BadModelFile where a file, of whatever dtype, is not as long as its header says."""
    _check_length(path, *_lines(path))


def _check_length(path: Path, lines: Mapping[str, Line], span: tuple[int, int]) -> None:
    start, total = span
    wanted = start + max((end for _, _, _, end in lines.values()), default=0)
    if total != wanted:
        raise BadModelFile(f"{path} has {total} bytes, and by its header {wanted}; fetch it again")
    at = 0
    for begin, end, name in sorted((begin, end, name) for name, (_, _, begin, end) in lines.items()):
        if begin != at:
            raise BadModelFile(
                f"{path} is broken: the data of {name!r} begin at {begin}, those before end at {at}; fetch it again"
            )
        at = end


def _lines(path: Path) -> tuple[dict[str, Line], tuple[int, int]]:
    """What the header says of each tensor, where the data begin, and the length of the file in bytes."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        total = path.stat().st_size
        if not 2 <= size <= min(MAX_HEADER_BYTES, total - 8):
            raise BadModelFile(f"{path} is not a safetensors file, or truncated: header of {size} bytes in {total}")
        try:
            header = json.loads(file.read(size).decode("utf-8"))
            return {name: _line(entry) for name, entry in header.items() if name != "__metadata__"}, (8 + size, total)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BadModelFile(f"{path} has a broken header: {error!r}; fetch it again") from error


def _line(entry: Any) -> Line:
    start, end = entry["data_offsets"]
    numbers = [*entry["shape"], start, end]
    if not all(type(number) is int for number in numbers):
        raise ValueError(f"{numbers!r:.80} of a shape and its place are no whole numbers")
    return str(entry["dtype"]), tuple(entry["shape"]), start, end


def _place(path: Path, name: str, line: Line, span: tuple[int, int], known: Mapping[str, str]) -> StoredTensor:
    dtype, shape, start, end = line
    data_start, total = span
    if dtype not in known:
        raise UnsupportedModel(f"{path}: {name} is stored as {dtype}; supported: {', '.join(known)}")
    num_bytes = math.prod(shape) * np.dtype(known[dtype]).itemsize
    if start < 0 or min(shape, default=1) < 0 or end - start != num_bytes or data_start + end > total:
        raise BadModelFile(f"{path} is truncated or broken: tensor {name!r} does not lie inside it; fetch it again")
    return StoredTensor(path, dtype, shape, data_start + start)
