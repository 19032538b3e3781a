"""How byte-level BPE writes bytes: each as one printable character, so that a token is a text of such characters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

PRINTABLE = (range(0x21, 0x7F), range(0xA1, 0xAD), range(0xAE, 0x100))
"""Bytes that are written as the Latin-1 character of that number; the others follow U+0100."""
NO_BYTE = 0x100  # beside a character that is no byte's


def bytes_of_all(tokens: Sequence[str]) -> list[bytes]:
    """What each stands for; itself, in UTF-8, where one of its characters is no byte's."""
    characters = np.frombuffer("".join(tokens).encode("utf-32-le"), "<u4")
    values = _BYTE_OF[np.minimum(characters, len(_BYTE_OF) - 1)]
    ends = np.cumsum(np.fromiter(map(len, tokens), np.int64, len(tokens)))
    written = values.astype(np.uint8).tobytes()
    table = [written[start:end] for start, end in pairwise([0, *ends.tolist()])]
    for i in {*np.searchsorted(ends, np.flatnonzero(values == NO_BYTE), "right").tolist()}:
        table[i] = tokens[i].encode()
    return table


def _byte_of() -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
    """By the number of a character; the last entry is for all that follow."""
    same = [byte for span in PRINTABLE for byte in span]
    moved = [byte for byte in range(0x100) if byte not in same]
    table = np.full(0x100 + len(moved) + 1, NO_BYTE, np.uint16)
    table[same] = same
    table[0x100:-1] = moved
    return table


_BYTE_OF = _byte_of()
