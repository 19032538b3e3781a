"""The file: two headers, then segments, all in words of int32.

    header A | header B | segment | segment | ...        a segment: tokens [n], then suffixes [m]

A segment holds the tokens of its texts, END behind each, and the places of all suffixes that begin with a token, sorted
by their first DEPTH tokens (a suffix array, Manber and Myers 1990). Segments are only ever written behind the end;
the two headers take turns, and the later whole one counts. So a write that is interrupted anywhere leaves the file as
it was. A header is MAGIC, a version, the length and the checksum of a JSON object, and that object.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadFile

Words = NDArray[np.int32]

END = -1  # stands behind every text, and sorts before every token
DEPTH = 64  # tokens by which suffixes are sorted; a power of two, see sorting.py
WORD_BYTES = 4
MAGIC = b"truedraw index\r\n"  # a transfer that converts line breaks spoils it, as it spoils the rest
VERSION = 1
HEADER_BYTES = 8192
FRAME = struct.Struct("<16sII16s")  # MAGIC, version, bytes of JSON, checksum of JSON
FIRST_WORD = 2 * HEADER_BYTES // WORD_BYTES
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


@dataclass(frozen=True, slots=True)
class Header:
    """What the file holds."""

    model: str  # whose tokenizer it was, for people
    fingerprint: str  # of that tokenizer's table
    sequence: int = 0  # counts the headers written
    end: int = FIRST_WORD  # words of the file that mean something
    segments: tuple[Segment, ...] = ()  # in the order in which their texts came

    @property
    def num_texts(self) -> int:
        """Of all segments."""
        return sum(segment.num_texts for segment in self.segments)

    @property
    def num_tokens(self) -> int:
        """Without END."""
        return sum(segment.num_suffixes for segment in self.segments)

    @property
    def num_live_words(self) -> int:
        """Of segments that count; the others were merged into later ones."""
        return sum(segment.num_words for segment in self.segments)


def write_header(file: BinaryIO, header: Header) -> None:
    """Into the place of the one before the last."""
    data = json.dumps(asdict(header)).encode()
    frame = FRAME.pack(MAGIC, VERSION, len(data), checksum_of(data))
    if len(frame) + len(data) > HEADER_BYTES:
        raise ValueError(f"a header of {len(data)} bytes does not fit")
    file.seek((header.sequence % 2) * HEADER_BYTES)
    file.write((frame + data).ljust(HEADER_BYTES, b"\0"))


def read_header(file: BinaryIO, path: Path) -> Header:
    """The later whole one; raises BadFile for a file that is none of ours, damaged or truncated."""
    file.seek(0)
    blocks = [file.read(HEADER_BYTES) for _ in range(2)]
    if not any(block.startswith(MAGIC) for block in blocks):
        raise BadFile(f"{path} is no index of truedraw; give a file that `truedraw index build` made")
    found = [header for block in blocks if (header := _parsed(block, path)) is not None]
    if not found:
        raise BadFile(f"{path} is damaged: its header is not what was written; {AGAIN}")
    header = max(found, key=lambda each: each.sequence)
    size = file.seek(0, 2)
    if size < header.end * WORD_BYTES:
        raise BadFile(f"{path} is truncated: {size} of {header.end * WORD_BYTES} bytes are there; {AGAIN}")
    return header


def check_tokenizer(header: Header, fingerprint: str, path: Path) -> None:
    """Raises BadFile where the ids in the file stand for other tokens than the model's."""
    if header.fingerprint != fingerprint:
        raise BadFile(
            f"{path} was made with the tokenizer of {header.model}, in which the same ids stand for other tokens; "
            "give an index of this model's tokenizer, or make one with `truedraw index build --model`"
        )


def checksum_of(data: bytes) -> bytes:
    """16 bytes."""
    return blake2b(data, digest_size=16).digest()


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


def _parsed(block: bytes, path: Path) -> Header | None:
    """None for one that is not whole."""
    if len(block) < FRAME.size or not block.startswith(MAGIC):
        return None
    _, version, size, checksum = FRAME.unpack_from(block)
    data = block[FRAME.size : FRAME.size + size]
    if checksum_of(data) != checksum:
        return None
    if version != VERSION:
        raise BadFile(f"{path} has version {version} of the index file; this truedraw reads version {VERSION}; {AGAIN}")
    return _header(json.loads(data))


def _header(entry: dict[str, Any]) -> Header:
    return Header(**{**entry, "segments": tuple(Segment(**segment) for segment in entry["segments"])})
