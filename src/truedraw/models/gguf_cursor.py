"""Reading values of the GGUF container one after the other; knows nothing of models."""

from __future__ import annotations

import mmap
import struct
from typing import Any

import numpy as np

from truedraw.models.gguf_texts import LENGTH, short_texts

SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
STRING, ARRAY = 8, 9
MAX_ARRAY_DEPTH = 8  # arrays of arrays are legal; nothing real nests deeper than one


class Cursor:
    """A position in a mapped file. Raises ValueError or struct.error where the file makes no sense."""

    def __init__(self, data: mmap.mmap, position: int) -> None:
        self.data = data
        self.position = position

    def scalar(self, layout: str) -> Any:
        """One number, in the notation of struct."""
        (value,) = struct.unpack_from(layout, self.data, self.position)
        self.position += struct.calcsize(layout)
        return value

    def count(self, least_bytes: int) -> int:
        """How many things follow, of `least_bytes` each at least, which the rest of the file can hold."""
        count = int(self.scalar("<Q"))
        if count * least_bytes > len(self.data) - self.position:
            raise ValueError(f"{count} entries at byte {self.position} of {len(self.data)}")
        return count

    def string(self) -> str:
        """Text with its length before it."""
        return self._strings(1)[0]

    def pair(self) -> tuple[str, Any]:
        """A metadata key and its value."""
        return self.string(), self._value(self.scalar("<I"))

    def _value(self, kind: int, depth: int = 0) -> Any:
        if kind in SCALARS:
            return self.scalar(SCALARS[kind])
        if kind == STRING:
            return self.string()
        if kind == ARRAY and depth < MAX_ARRAY_DEPTH:
            return self._array(depth + 1)
        raise ValueError(f"value type {kind} at byte {self.position}")

    def _array(self, depth: int) -> list[Any]:
        kind = self.scalar("<I")
        if kind in SCALARS:
            return self._numbers(np.dtype(SCALARS[kind]))
        count = self.count(least_bytes=LENGTH.size)
        return self._strings(count) if kind == STRING else [self._value(kind, depth) for _ in range(count)]

    def _strings(self, count: int) -> list[str]:
        """As `string` reads them."""
        found = short_texts(self.data, self.position, count) if count > 1 else None
        if found is None:
            return self._any_strings(count)
        texts, self.position = found
        return texts

    def _any_strings(self, count: int) -> list[str]:
        """However long they are; says where the first one stands that makes no sense."""
        data, start, whole, found = self.data, self.position, len(self.data), list[str]()
        try:
            for _ in range(count):
                begin = start + LENGTH.size
                end = begin + LENGTH.unpack_from(data, start)[0]
                if end > whole:
                    raise ValueError(f"a text of {end - begin} bytes at byte {begin} of {whole}")
                found.append(data[begin:end].decode())
                start = end
        finally:
            self.position = start  # also where it makes no sense
        return found

    def _numbers(self, dtype: np.dtype[Any]) -> list[Any]:
        end = self.count(dtype.itemsize) * dtype.itemsize + self.position
        values = np.frombuffer(self.data[self.position : end], dtype)
        self.position = end
        return list(values.tolist())
