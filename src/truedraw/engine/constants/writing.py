"""Arrays on their way into a store's file, and where each of them lies."""

from __future__ import annotations

from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.weights import Constants, stacks, vectors
from truedraw.protocol import ModelConfig

ALIGNMENT = 64  # bytes: a cache line, as the kernels like it


class Writing:
    """One file; `table` says of each array what mapped.py needs to find it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.table: dict[str, Any] = {}

    def array(self, key: str, values: NDArray[Any], zero: int = 0) -> None:
        """Behind those before."""
        self._file.write(bytes(-self._file.tell() % ALIGNMENT))
        self.table[key] = {
            "offset": self._file.tell(),
            "dtype": values.dtype.str,
            "shape": list(values.shape),
            "zero": zero,
        }
        self._file.write(np.ascontiguousarray(values).data)

    def matrix(self, names: tuple[str, ...], matrix: Matrix) -> None:
        """A stack by the names of its matrices."""
        key = "+".join(names)
        self.array(f"{key}:values", matrix.values, matrix.zero)
        for name, numbers in (("scales", matrix.scales), ("least", matrix.least)):
            if numbers is not None:
                self.array(f"{key}:{name}", numbers)

    def vector(self, name: str, values: NDArray[np.float32]) -> None:
        """A gain or a bias."""
        self.array(f"{name}:values", values)


def write_all(config: ModelConfig, source: Constants, writing: Writing) -> None:
    """As graphs ask for them: one stack after the other, so that memory holds one at a time."""
    for names in stacks(config):
        _write_stack(names, source, writing)
    for name in vectors(config):
        writing.vector(name, source.vector(name))


def _write_stack(names: tuple[str, ...], source: Constants, writing: Writing) -> None:
    """The stack, or its matrices one by one where their forms differ."""
    matrix = source.matrix(names)
    if matrix is not None:
        writing.matrix(names, matrix)
        return
    for name in names:
        _write_stack((name,), source, writing)
