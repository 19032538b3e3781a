"""Many short texts of a GGUF file at once: a vocabulary and its merges are some hundred thousand.

Each has its length before it, in eight bytes, so that only a walk finds them; but what the walk does for each is little
where no length needs more than one byte, and all are decoded together.
"""

from __future__ import annotations

import mmap
import struct

import numpy as np

LENGTH = struct.Struct("<Q")
MOST, MEAN_BYTES = 1 << 20, 64  # texts, and of each with its length: what is more than that is no vocabulary

Places = np.ndarray[tuple[int], np.dtype[np.int64]]


def short_texts(data: mmap.mmap, start: int, count: int) -> tuple[list[str], int] | None:
    """They and where they end; None where they are many or long, or one has a NUL in it, or is none at all."""
    region = data[start : start + min(count, MOST) * MEAN_BYTES]
    try:
        starts, num_bytes = _walked(region, count)
    except IndexError:
        return None
    if num_bytes > len(region):
        return None
    joined = _joined(np.frombuffer(region, np.uint8, num_bytes).copy(), starts)
    texts = [] if joined is None else joined.split("\0")[1:]
    return (texts, start + num_bytes) if len(texts) == count else None


def _walked(region: bytes, count: int) -> tuple[Places, int]:
    """Where each length stands, as long as one byte says it, and where the last text ends."""
    starts, start = [], 0
    for _ in range(count):
        starts.append(start)
        start += LENGTH.size + region[start]
    return np.array(starts, np.int64), start


def _joined(values: np.ndarray[tuple[int], np.dtype[np.uint8]], starts: Places) -> str | None:
    """All texts, a NUL before each; None where one has 256 bytes or more, or is no UTF-8. Changes the bytes given."""
    kept = np.ones(len(values), np.bool_)
    for place in range(1, LENGTH.size):
        if values[starts + place].any():
            return None
        kept[starts + place] = False
    values[starts] = 0
    try:
        return values[kept].tobytes().decode()
    except UnicodeDecodeError:
        return None
