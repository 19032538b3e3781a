"""Tensors of a `torch.save` file without torch, and without running anything that the file names.

Such a file is a zip archive: data.pkl, a pickle that says what there is, and an entry of raw numbers for each storage.
A pickle can call whatever it names; here it can name an ordered dictionary, the kinds of storages and how a tensor is
put together of one, and these only note what was said. Anything else, or the format from before torch 1.6, is refused.
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadFile
from truedraw.models.safetensors_file import DTYPES

PICKLE = "data.pkl"
MOST_PICKLE_BYTES = 1 << 20  # of what only lists tensors
STORAGES = {"FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16"}
CONVERT = (
    'python -c "import torch, safetensors.torch as s; s.save_file({name: each.contiguous().clone() for name, each in '
    "torch.load('{name}.pt', map_location='cpu', weights_only=True).items()}, '{name}.safetensors')\""
)


class Storage(NamedTuple):
    """Raw numbers of the archive."""

    dtype: str
    key: str


@dataclass(frozen=True, slots=True)
class TorchTensor:
    """Where a tensor lies."""

    path: Path
    entry: str  # of the archive
    dtype: str  # "F32", "F16" or "BF16"
    shape: tuple[int, ...]
    offset: int  # numbers before it

    def dense(self) -> NDArray[np.float32]:
        """Its numbers; raises BadFile."""
        kind, convert = DTYPES[self.dtype]
        try:
            with zipfile.ZipFile(self.path) as archive:
                raw = np.frombuffer(archive.read(self.entry), kind)
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise _damaged(self.path, error) from error
        return convert(raw[self.offset : self.offset + math.prod(self.shape)].reshape(self.shape))


class _Tensor(NamedTuple):
    """What a pickle says of a tensor."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Rebuild:
    """Stands for torch._utils._rebuild_tensor_v2; a pickle can call it, and change nothing about it."""

    __slots__ = ()

    def __call__(self, storage: Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any) -> Any:
        return _Tensor(storage, offset, shape, strides)


class _Whole:
    """Stands for torch._utils._rebuild_parameter."""

    __slots__ = ()

    def __call__(self, tensor: Any, *_: Any) -> Any:
        return tensor


class _Reader(pickle._Unpickler):  # in Python: the one in C reserves as much memory as a file tells it to
    def find_class(self, module: str, name: str) -> Any:
        known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _Rebuild(),
            ("torch._utils", "_rebuild_parameter"): _Whole(),
            **{("torch", storage): dtype for storage, dtype in STORAGES.items()},
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return known[module, name]

    def persistent_load(self, pid: Any) -> Storage:
        _, dtype, key, *_ = pid
        if dtype not in DTYPES or not isinstance(key, str):
            raise pickle.UnpicklingError(f"a storage of {dtype!r:.40}")
        return Storage(dtype, key)


def read_torch(path: Path) -> dict[str, TorchTensor]:
    """By their names; raises BadFile with what to do instead."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {info.filename: _stored_bytes(info) for info in archive.infolist()}
            (listed,) = (name for name in sizes if name == PICKLE or name.endswith(f"/{PICKLE}"))
            if sizes[listed] > MOST_PICKLE_BYTES:
                raise ValueError(f"{listed} has {sizes[listed]} bytes")
            found = _Reader(io.BytesIO(archive.read(listed))).load()
        if not isinstance(found, Mapping):
            raise TypeError(f"it holds a {type(found).__name__}")
        folder = listed.removesuffix(PICKLE)
        return {str(name): _placed(path, f"{folder}data/", each, sizes) for name, each in found.items()}
    except Exception as error:  # a pickle can go wrong in any way
        raise _damaged(path, error) from error


def _stored_bytes(info: zipfile.ZipInfo) -> int:
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{info.filename} is compressed, which torch does not do")
    return info.file_size


def _placed(path: Path, folder: str, tensor: Any, sizes: Mapping[str, int]) -> TorchTensor:
    if not isinstance(tensor, _Tensor) or not isinstance(tensor.storage, Storage):
        raise TypeError(f"a {type(tensor).__name__} among its tensors")
    entry, (kind, _) = folder + tensor.storage.key, DTYPES[tensor.storage.dtype]
    shape, numbers = tuple(map(int, tensor.shape)), sizes[entry] // np.dtype(kind).itemsize
    whole = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    if min(shape, default=1) < 1 or list(tensor.strides) != whole:
        raise ValueError(f"a tensor of the shape {shape} whose numbers do not lie in a row")
    if not 0 <= tensor.offset <= numbers - math.prod(shape):
        raise ValueError(f"a tensor of the shape {shape} that does not lie in {entry}")
    return TorchTensor(path, entry, tensor.storage.dtype, shape, int(tensor.offset))


def _damaged(path: Path, error: Exception) -> BadFile:
    how = CONVERT.replace("{name}", path.with_suffix("").name)
    return BadFile(f"{path} cannot be read without torch ({error}); where torch is, convert it in its folder: {how}")
