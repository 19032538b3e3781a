"""Counts of n-grams on disk: a header that says what they are, then the columns as they lie in memory.

    32 bytes            magic, version of the format, bytes of the header and their CRC-32, little-endian
    header              JSON, filled up with blanks to a multiple of 64 bytes
    columns             tokens, counts, begins: int32, little-endian, one behind the other

A file is written beside its place and moved there when it is whole. It is mapped, not read: processes that use the same
one share its memory. What it says is believed once its checksum has been computed, for a wrong place in it would be
read as memory.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from truedraw.draft.ngram_lm_counts import NgramCounts
from truedraw.draft.site import Models
from truedraw.errors import BadFile, BadParameter
from truedraw.home_folder import expanded
from truedraw.text import Tokenizer
from truedraw.whole_files import replacing

MAGIC = b"truedraw ngrams\n"
VERSION = 1
PREFIX = struct.Struct("<16sIII4x")
ALIGNED = 64  # bytes, a line of a processor's cache
COLUMN = np.dtype("<i4")
SHIPPED = "counts"  # folder of the package
MOST_OPEN = 4  # files kept open for the next run
WHAT_TO_DO = "build it again with `truedraw ngrams build`"


@dataclass(frozen=True, slots=True)
class Origin:
    """For which model the counts are: token ids mean nothing without its tokenizer."""

    model: str
    tokenizer: str  # fingerprint of its vocabulary
    vocab_size: int


def check_ours(path: Path) -> None:
    """Raises BadFile where something is there that never was such a file: it would be lost for one."""
    if path.is_file() and path.stat().st_size and _mapped(path)[: len(MAGIC)] != MAGIC:
        raise BadFile(f"{path} holds no counts of n-grams, so none are written in its place; give another file")


def write_counts(path: Path, counts: NgramCounts, origin: Origin, anew: bool = False) -> None:
    """Whole or not at all; raises BadFile where it cannot be written, `anew`: or something is there by then."""
    columns = [np.ascontiguousarray(each, COLUMN) for each in (counts.tokens, counts.counts, counts.begins)]
    header = _header(counts, origin, [column.nbytes for column in columns], _checksum(columns))
    with replacing(path, anew=anew) as fresh, fresh.open("wb") as file:
        file.write(header)
        for column in columns:
            file.write(column.data)


def read_counts(path: Path) -> tuple[NgramCounts, Origin]:
    """The counts, mapped; raises BadFile for what is missing, something else, of another version, cut or damaged."""
    data = _mapped(path)
    body, begin = _body(data, path)
    try:
        facts = json.loads(body)
        sizes = [int(size) for size in facts["column_bytes"]]
        if begin + sum(sizes) != len(data):
            _bad(path, f"is {len(data)} bytes long where its header says {begin + sum(sizes)}; it was cut, or grew")
        ends = begin + np.cumsum([0, *sizes])
        columns = [
            np.frombuffer(data, COLUMN, (end - start) // COLUMN.itemsize, start)
            for start, end in pairwise(ends.tolist())
        ]
        if _checksum(columns) != facts["checksum"]:
            _bad(path, "is damaged: its checksum is wrong")
        origin = Origin(**facts["origin"])
        return _counts(columns, facts, origin.vocab_size), origin
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, BadFile):
            raise
        _bad(path, f"has a header that says nonsense ({type(error).__name__}: {error})")


def counts_for(path: str | Path, vocab_size: int, models: Models | None) -> NgramCounts:
    """The counts for one target; one whose tokenizer nobody knows is told by its `vocab_size` alone.

    A file that has not changed is not read again. Raises BadFile, and BadParameter for counts of other tokens.
    """
    file = expanded(path)
    try:
        facts = file.stat()
    except (OSError, ValueError) as error:  # or no file's name
        why = getattr(error, "strerror", None) or error
        raise BadFile(f"{str(path)!r} cannot be read: {why}; `truedraw ngrams build` makes such a file") from error
    counts, origin = _opened(file, (facts.st_ino, facts.st_size, facts.st_mtime_ns))
    same = origin.vocab_size <= vocab_size if models is None else origin.tokenizer == models.tokenizer.fingerprint
    if not same:
        raise BadParameter(
            "ngram_lm_path",
            f"{file} counts tokens of {origin.model}, and the model's own are others; {WHAT_TO_DO} and this model",
        )
    return counts


def shipped(tokenizer: Tokenizer) -> Path | None:
    """Counts that come with truedraw for models of this tokenizer, made by tools/own_counts.py; None: none do."""
    found = sorted((Path(__file__).parent / SHIPPED).glob("*.tdn"))
    return next((path for path in found if _origin(path).tokenizer == tokenizer.fingerprint), None)


@lru_cache(maxsize=MOST_OPEN)
def _origin(path: Path) -> Origin:
    return read_counts(path)[1]


@lru_cache(maxsize=MOST_OPEN)
def _opened(path: Path, _version: tuple[int, int, int]) -> tuple[NgramCounts, Origin]:
    return read_counts(path)


def _header(counts: NgramCounts, origin: Origin, sizes: list[int], checksum: int) -> bytes:
    facts = {
        "origin": asdict(origin),
        "levels": counts.levels,
        "num_tokens": counts.num_tokens,
        "num_texts": counts.num_texts,
        "column_bytes": sizes,
        "checksum": checksum,
    }
    body = json.dumps(facts).encode()
    body += b" " * (-(PREFIX.size + len(body)) % ALIGNED)
    return PREFIX.pack(MAGIC, VERSION, len(body), zlib.crc32(body)) + body


def _mapped(path: Path) -> mmap.mmap | bytes:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadFile(f"{path} cannot be read: {reason}; give a file that `truedraw ngrams build` wrote") from error


def _body(data: mmap.mmap | bytes, path: Path) -> tuple[bytes, int]:
    """The header's JSON, and where the columns begin."""
    if data[: len(MAGIC)] != MAGIC:
        _bad(path, "holds no counts of n-grams")
    if len(data) < PREFIX.size:
        _bad(path, f"ends after {len(data)} bytes, inside its header")
    _, version, size, checksum = PREFIX.unpack(data[: PREFIX.size])
    if version != VERSION:
        _bad(path, f"has version {version} of the format, and this program reads version {VERSION}")
    body = data[PREFIX.size : PREFIX.size + size]
    if len(body) < size or zlib.crc32(body) != checksum:
        _bad(path, "is damaged in its header")
    return body, PREFIX.size + size


def _counts(columns: list[Any], facts: dict[str, Any], vocab_size: int) -> NgramCounts:
    """Raises ValueError where following them would lead out of the columns, or to a token that does not exist."""
    tokens, counts, begins = columns
    levels = tuple(int(level) for level in facts["levels"])
    nodes, inner = sum(levels), sum(levels[:-1])
    if [len(column) for column in columns] != [nodes, nodes, inner + 1]:
        raise ValueError("columns of other lengths than its levels")
    if nodes and (tokens.min() < 0 or tokens.max() >= vocab_size):
        raise ValueError(f"tokens beyond its vocabulary of {vocab_size}")
    if begins[0] != levels[0] or begins[-1] != nodes or (np.diff(begins) < 0).any():
        raise ValueError("followers out of order")
    return NgramCounts(tokens, counts, begins, levels, int(facts["num_tokens"]), int(facts["num_texts"]))


def _checksum(columns: list[Any]) -> int:
    total = 0
    for column in columns:
        total = zlib.crc32(column.data, total)
    return total


def _bad(path: Path, problem: str) -> NoReturn:
    raise BadFile(f"{path} {problem}; {WHAT_TO_DO}")
