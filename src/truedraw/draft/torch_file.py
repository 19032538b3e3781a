"""Tensors of a `torch.save` file without torch, and without running anything that the file names.

Such a file is a zip archive: data.pkl, a pickle that says what there is, and an entry of raw numbers for each storage.
The format from before torch 1.6 is refused.
"""

from __future__ import annotations

import math
import pickle
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.torch_pickle import Said, Storage, read_pickle
from truedraw.errors import BadFile
from truedraw.models.safetensors_file import DTYPES, INTEGERS, known_kinds
from truedraw.protocol import Ints

PICKLE = "data.pkl"
MOST_PICKLE_BYTES = 1 << 20  # of what only lists tensors
MOST_AXES = 8
ORDER = "byteorder"
DAMAGE = OSError, EOFError, KeyError, zlib.error, zipfile.BadZipFile
CONVERT = (
    'python -c "import torch, safetensors.torch as s; s.save_file({name: each.contiguous().clone() for name, each in '
    "torch.load('{file}', map_location='cpu', weights_only=True).items()}, '{name}.safetensors')\""
)


@dataclass(frozen=True, slots=True)
class TorchTensor:
    """Where a tensor lies."""

    path: Path
    entry: str  # of the archive
    dtype: str  # "F32", "F16" or "BF16"; where they were asked for, one of INTEGERS
    shape: tuple[int, ...]
    offset: int  # numbers before it

    def dense(self) -> NDArray[np.float32]:
        """Its numbers; raises BadFile."""
        kind, convert = DTYPES[self.dtype]
        return convert(self._raw(kind))

    def integers(self) -> Ints:
        """The numbers of one of INTEGERS; raises BadFile."""
        return self._raw(INTEGERS[self.dtype]).astype(np.int64)

    def _raw(self, kind: str) -> NDArray[Any]:
        """Its own numbers alone, as they are stored; their checksum is looked at."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                raw = np.frombuffer(archive.read(self.entry), kind)
            return raw[self.offset : self.offset + math.prod(self.shape)].reshape(self.shape)
        except Exception as error:  # whoever has changed the file meanwhile
            raise _refused(self.path, error) from error


def read_torch(path: Path, *, integers: bool = False) -> dict[str, TorchTensor]:
    """By their names; raises BadFile with what to do instead. `integers`: there may be some beside the floats."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {info.filename: _stored_bytes(info, path.stat().st_size) for info in archive.infolist()}
            (listed,) = (name for name in sizes if name == PICKLE or name.endswith(f"/{PICKLE}"))
            if sizes[listed] > MOST_PICKLE_BYTES:
                raise ValueError(f"{listed} has {sizes[listed]} bytes")
            found, folder = read_pickle(archive.read(listed)), listed.removesuffix(PICKLE)
            _check_order(archive, f"{folder}{ORDER}", sizes)
        if not isinstance(found, Mapping):
            raise TypeError(f"it holds a {type(found).__name__}")
        place = partial(_placed, path, f"{folder}data/", sizes, known_kinds(integers=integers))
        return {str(name): place(each) for name, each in found.items()}
    except Exception as error:  # a pickle can go wrong in any way
        raise _refused(path, error) from error


def _check_order(archive: zipfile.ZipFile, entry: str, sizes: Mapping[str, int]) -> None:
    if entry in sizes and archive.read(entry) != b"little":
        raise ValueError("its numbers are in big-endian order")


def _stored_bytes(info: zipfile.ZipInfo, total: int) -> int:
    if info.header_offset + info.file_size > total:
        raise zipfile.BadZipFile(f"{info.filename!r:.80} is said to have {info.file_size} bytes, more than are there")
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise ValueError(f"{info.filename!r:.80} is compressed, which torch does not do")
    return info.file_size


def _placed(path: Path, folder: str, sizes: Mapping[str, int], kinds: Mapping[str, str], tensor: Any) -> TorchTensor:
    if not isinstance(tensor, Said) or not isinstance(tensor.storage, Storage):
        raise TypeError(f"a {type(tensor).__name__} among its tensors")
    if not _is_small(tensor.shape) or not _is_small(tensor.strides) or not _is_small((tensor.offset,)):
        raise TypeError("a tensor whose shape is no list of a few whole numbers")
    entry, dtype, shape = folder + tensor.storage.key, tensor.storage.dtype, tensor.shape
    if dtype not in kinds:
        raise TypeError(f"a tensor of {dtype} among its floats")
    if entry not in sizes:
        raise zipfile.BadZipFile(f"{entry!r:.80} is missing")
    numbers = sizes[entry] // np.dtype(kinds[dtype]).itemsize
    whole = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    if min(shape, default=1) < 1 or list(tensor.strides) != whole:
        raise ValueError(f"a tensor of the shape {shape} whose numbers do not lie in a row")
    if not 0 <= tensor.offset <= numbers - math.prod(shape):
        raise zipfile.BadZipFile(f"a tensor of the shape {shape} does not lie in {entry!r:.80}")
    return TorchTensor(path, entry, dtype, shape, tensor.offset)


def _is_small(numbers: Any) -> bool:
    return (
        isinstance(numbers, tuple)
        and len(numbers) <= MOST_AXES
        and all(type(each) is int and abs(each) < 1 << 63 for each in numbers)
    )


def _refused(path: Path, error: Exception) -> BadFile:
    """Damage is not to be converted: where torch does not see it, it would stay, unseen."""
    reason = "it ends too early" if isinstance(error, EOFError) else str(error) or type(error).__name__
    if isinstance(error, DAMAGE) and not _is_of_old(path):
        return BadFile(f"{path} is damaged, or no file of torch's ({reason}); fetch it again")
    how = CONVERT.replace("{file}", path.name).replace("{name}", path.stem)
    return BadFile(f"{path} cannot be read without torch ({reason}); where torch is, convert it in its folder: {how}")


def _is_of_old(path: Path) -> bool:
    """Whether it is in the format that torch wrote before 1.6."""
    try:
        with path.open("rb") as file:
            start = file.read(3)  # a protocol, and then its magic number
            return start[:1] == pickle.PROTO and start[2:] in (pickle.LONG1, pickle.FRAME)
    except OSError:
        return False
