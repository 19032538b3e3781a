"""The file: two headers, then segments, all in words of int32.

    header | the same again | segment | segment | ...        a segment: tokens [n], then suffixes [m]

A segment holds the tokens of its texts, END behind each, and the places of all suffixes that begin with a token, sorted
by their first DEPTH tokens (a suffix array, Manber and Myers 1990). Segments are only ever written behind the end;
then the header is written to one of its two places, and once it is on the disk to the other. The later whole one
counts, and it is never the first to be written over. So a write that is interrupted anywhere leaves the file as it was
or as it was to be; and of a write that was finished both headers tell, so damage to either loses nothing. A header is
MAGIC, a version, the length and the checksum of a JSON object, and that object (header.py).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadFile

Words = NDArray[np.int32]

END = -1  # stands behind every text, and sorts before every token
DEPTH = 64  # tokens by which suffixes are sorted; a power of two, see sorting.py
WORD_BYTES = 4
CHUNK_BYTES = 1 << 22
AGAIN = "make it again with `truedraw index build`"


@dataclass(frozen=True, slots=True)
class Segment:
    """Texts that were sorted together."""

    start: int  # word of the file
    num_tokens: int  # with an END for every text
    num_texts: int
    checksum: int  # CRC-32 of its words

    @property
    def num_suffixes(self) -> int:
        """One for each token that is no END."""
        return self.num_tokens - self.num_texts

    @property
    def num_words(self) -> int:
        """Tokens and suffixes."""
        return self.num_tokens + self.num_suffixes

    @property
    def end(self) -> int:
        """The word behind it."""
        return self.start + self.num_words


def check_regular(path: Path) -> None:
    """Raises BadFile for a folder, and for a pipe or a device, of which reading may never end."""
    if path.exists() and not path.is_file():
        raise BadFile(f"{path} cannot be read: it is no regular file; give one that `truedraw index build` made")


def crc_of(words: Words) -> int:
    """CRC-32 of mapped words."""
    crc = 0
    for first in range(0, len(words), CHUNK_BYTES // WORD_BYTES):
        crc = zlib.crc32(words[first : first + CHUNK_BYTES // WORD_BYTES].tobytes(), crc)
    return crc


def check_segments(words: Words, segments: Sequence[Segment], path: Path) -> None:
    """Reads all of them, out of the words of the whole file; raises BadFile where they are not what was written."""
    for segment in segments:
        if crc_of(words[segment.start : segment.end]) != segment.checksum:
            first, last = segment.start * WORD_BYTES, segment.end * WORD_BYTES
            raise BadFile(f"{path} is damaged: bytes {first} to {last} are not what was written; {AGAIN}")
