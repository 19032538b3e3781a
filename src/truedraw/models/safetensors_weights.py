"""The tensors of a Hugging Face folder: *.safetensors, one or several, read without torch.

A safetensors file is the length of its header (8 bytes, little endian), the header (JSON: name -> dtype,
shape, data_offsets) and the data. The numpy side of the safetensors package has no
bfloat16, hence this reader.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.fields import read_json
from truedraw.models.layout import HEAD, Shape, check_tensors
from truedraw.protocol import Ints, ModelConfig, Packed

INDEX = "model.safetensors.index.json"
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
INTEGERS = {"I64": "<i8", "I32": "<i4", "BOOL": "?"}
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

    def integers(self) -> Ints:
        """The numbers of one of INTEGERS."""
        dtype = INTEGERS[self.dtype]
        return np.memmap(self.path, dtype, mode="r", offset=self.offset, shape=self.shape).astype(np.int64)


class SafetensorsWeights:
    """Implements protocol.Weights; nothing is read before it is asked for, and nothing is kept.

    `beside`: what the names of tensors begin with that are no part of the model; has_beside says whether there are any.
    """

    def __init__(self, folder: Path, config: ModelConfig, beside: str | None = None) -> None:
        self._folder = folder
        self.has_beside = False
        self._stored: dict[str, StoredTensor] = {}
        for path in weight_files(folder):
            self._stored |= {
                name: tensor for name, tensor in read_header(path).items() if not name.endswith("inv_freq")
            }
        if beside is not None:
            model = {name: tensor for name, tensor in self._stored.items() if not name.startswith(beside)}
            self.has_beside, self._stored = len(model) < len(self._stored), model
        if config.tie_embeddings:
            self._stored.pop(HEAD, None)  # a copy of the embedding, which Hugging Face ignores as well
        check_tensors(folder, config, {name: tensor.shape for name, tensor in self._stored.items()})

    def names(self) -> list[str]:
        """Hugging Face names; no head where it is tied to the embedding."""
        return list(self._stored)

    def stored_as(self, name: str) -> str:
        """The safetensors dtype."""
        return self._find(name).dtype

    def dense(self, name: str) -> NDArray[np.float32]:
        """As float32, [out, in] or [size]."""
        return self._find(name).dense()

    def packed(self, name: str) -> Packed | None:
        """None: nothing here is quantised."""
        self._find(name)
        return None

    def _find(self, name: str) -> StoredTensor:
        if name not in self._stored:
            raise BadModelFile(f"{self._folder} has no tensor {name!r}")
        return self._stored[name]


def weight_files(folder: Path) -> list[Path]:
    """The files that the index names, or every *.safetensors without one; raises where one is absent."""
    if (folder / INDEX).exists():
        files = [folder / name for name in sorted(_indexed(folder / INDEX))]
    else:
        files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise BadModelFile(f"{folder} holds no *.safetensors; save the model with safe_serialization=True")
    for path in files:
        if not path.is_file():
            raise BadModelFile(f"{folder} lacks {path.name}, which {INDEX} names; fetch it again")
    return files


def _indexed(index: Path) -> set[str]:
    """Names of files beside the index: a name that leads elsewhere is refused."""
    table = read_json(index).get("weight_map")
    names = set(table.values()) if isinstance(table, dict) else set()
    if not names or any(not isinstance(name, str) or Path(name).name != name for name in names):
        raise BadModelFile(f"{index}: weight_map must name the files beside it; fetch it again")
    return names


def read_header(path: Path, *, integers: bool = False) -> dict[str, StoredTensor]:
    """The tensors of one file by their names; raises BadModelFile, UnsupportedModel.

    `integers`: there may be some beside the floats.
    """
    lines, span = _lines(path)
    known = {name: number for name, (number, _) in DTYPES.items()} | (INTEGERS if integers else {})
    return {name: _place(path, name, line, span, known) for name, line in lines.items()}


def check_lengths(folder: Path) -> None:
    """Raises BadModelFile where a file of weights, of whatever dtype, is not as long as its header says."""
    for path in weight_files(folder):
        lines, (start, total) = _lines(path)
        wanted = start + max((end for _, _, _, end in lines.values()), default=0)
        if total != wanted:
            raise BadModelFile(f"{path} has {total} bytes, and by its header {wanted}; fetch it again")


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
