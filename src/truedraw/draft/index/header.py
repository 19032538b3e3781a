"""The header of an index file: what its segments are, see layout.py."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from truedraw.draft.index.layout import AGAIN, WORD_BYTES, Segment
from truedraw.errors import BadFile

MAGIC = b"truedraw index\r\n"  # a transfer that converts line breaks spoils it, as it spoils the rest
VERSION = 2  # 1 held its newest header once only
HEADER_BYTES = 8192
FRAME = struct.Struct("<16sII16s")  # MAGIC, version, bytes of JSON, checksum of JSON
FIRST_WORD = 2 * HEADER_BYTES // WORD_BYTES


@dataclass(frozen=True, slots=True)
class Header:
    """What the file holds."""

    model: str  # whose tokenizer it was, for people
    fingerprint: str  # of that tokenizer's table
    sequence: int = 0  # counts the writes
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


def write_header(file: BinaryIO, header: Header, place: int) -> None:
    """Into place 0 or 1; `places` says in which order."""
    data = json.dumps(asdict(header)).encode()
    frame = FRAME.pack(MAGIC, VERSION, len(data), checksum_of(data))
    if len(frame) + len(data) > HEADER_BYTES:
        raise ValueError(f"a header of {len(data)} bytes does not fit")
    file.seek(place * HEADER_BYTES)
    file.write((frame + data).ljust(HEADER_BYTES, b"\0"))


def read_header(file: BinaryIO, path: Path) -> Header:
    """The later whole one; raises BadFile for a file that is none of ours, damaged or truncated."""
    blocks = _blocks(file)
    if not any(block.startswith(MAGIC) for block in blocks):
        raise BadFile(f"{path} is no index of truedraw; give a file that `truedraw index build` made")
    found = [header for block in blocks if (header := _parsed(block)) is not None]
    if not found:
        raise BadFile(f"{path} {_trouble(blocks)}; {AGAIN}")
    header = max(found, key=lambda each: each.sequence)
    size = file.seek(0, 2)
    if size < header.end * WORD_BYTES:
        raise BadFile(f"{path} is truncated: {size} of {header.end * WORD_BYTES} bytes are there; {AGAIN}")
    return header


def check_ours(path: Path) -> None:
    """Raises BadFile where something is there that was never an index: it would be lost for one."""
    if path.exists() and path.stat().st_size:
        with path.open("rb") as file:
            if not any(block.startswith(MAGIC) for block in _blocks(file)):
                raise BadFile(f"{path} is no index of truedraw, so none is made in its place; give another file")


def places(file: BinaryIO) -> tuple[int, int]:
    """Both places of a header, in the order in which they may be written over: last the one that counts."""
    first, second = (_parsed(block) for block in _blocks(file))
    counts_first = first is not None and (second is None or first.sequence >= second.sequence)
    return (1, 0) if counts_first else (0, 1)


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


def _blocks(file: BinaryIO) -> list[bytes]:
    file.seek(0)
    return [file.read(HEADER_BYTES) for _ in range(2)]


def _parsed(block: bytes) -> Header | None:
    """None for one that is not whole, says nonsense, or is of another version."""
    whole = _whole(block)
    return _header(whole[1]) if whole is not None and whole[0] == VERSION else None


def _whole(block: bytes) -> tuple[int, bytes] | None:
    """(version, JSON) of a header as it was written."""
    if len(block) < FRAME.size or not block.startswith(MAGIC):
        return None
    _, version, size, checksum = FRAME.unpack_from(block)
    data = block[FRAME.size : FRAME.size + size]
    return (version, data) if checksum_of(data) == checksum else None


def _trouble(blocks: Sequence[bytes]) -> str:
    """Why none of the headers can be read."""
    others = [whole[0] for block in blocks if (whole := _whole(block)) is not None and whole[0] != VERSION]
    if others:
        return f"has version {max(others)} of the index file; this truedraw reads version {VERSION}"
    return "is damaged: neither of its headers is what was written"


def _header(data: bytes) -> Header | None:
    try:
        entry = json.loads(data)
        header = Header(**{**entry, "segments": tuple(Segment(**segment) for segment in entry["segments"])})
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return header if _is_sound(header) else None


def _is_sound(header: Header) -> bool:
    """Whether its numbers can be those of a file: segments lie within it, and hold what they say."""
    numbers = header.sequence, header.end, *(number for each in header.segments for number in astuple(each))
    if not all(type(number) is int and number >= 0 for number in numbers):
        return False
    inside = all(each.start >= FIRST_WORD and each.end <= header.end for each in header.segments)
    return inside and header.end >= FIRST_WORD and all(each.num_suffixes >= 0 for each in header.segments)
