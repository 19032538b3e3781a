"""Making an index and adding to it; whole or not at all, whatever interrupts it.

`build` writes a new file beside the old one and puts it in its place. `add` writes behind the end of the file; only the
header, written last, makes it count. The segments of a file are like the digits of a number: one that is not at least
GROWTH times as large as all behind it is merged with them, so a token is merged a few times in its life, and a look-up
asks few segments. When more than half of a file is left over from merges, it is written anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from truedraw.draft.index.header import (
    FIRST_WORD,
    Header,
    check_ours,
    check_tokenizer,
    places,
    read_header,
    write_header,
)
from truedraw.draft.index.layout import CHUNK_BYTES, WORD_BYTES, Words, check_regular, check_segments
from truedraw.draft.index.segments import Feed, Means, append, append_merged, mapped
from truedraw.errors import BadFile
from truedraw.file_locks import is_free, may_replace_open
from truedraw.whole_files import check_kind, is_at, replacing

GROWTH = 2
MOST_SEGMENTS = 8  # a look-up asks each of them


def build(path: Path, arrays: Iterable[Words], empty: Header, means: Means, overwrite: bool = False) -> Header:
    """A new index at `path` of arrays of tokens with END behind every text. `empty` names the tokenizer.

    Raises BadFile where something is there already, unless `overwrite`, where it cannot be written, and for no tokens.
    """
    check_kind(path, str(path))
    before = path.exists()
    if before and not overwrite:
        raise BadFile(f"{path} is there already; `truedraw index add` adds to it, --overwrite makes it anew")
    check_ours(path)
    held = _opened(path) if before and may_replace_open() else nullcontext()
    with held, _replacing(path, anew=not before) as file:
        return _said(file, replace(_appended(file, empty, Feed(arrays), means), sequence=1))


def add(path: Path, arrays: Iterable[Words], fingerprint: str, means: Means) -> Header:
    """More texts for the index at `path`. Raises BadFile, and leaves the file as it was."""
    with _opened(path) as file:
        before = read_header(file, path)
        check_tokenizer(before, fingerprint, path)
        try:
            _cut(file, before)
            header = _tidied(path, file, _appended(file, before, Feed(arrays), means), means)
            _to_disk(file)
        except BaseException:
            _cut(file, before)
            raise
        header = _said(file, replace(header, sequence=before.sequence + 1))  # from here on it may count
        _check_at(file, path)
        return _kept_small(path, file, header)


def _appended(file: BinaryIO, header: Header, feed: Feed, means: Means) -> Header:
    """All that the feed has, in as few segments as it goes into; raises BadFile for nothing."""
    known = len(header.segments)
    while feed.has_more:
        segment = append(file, header.end, feed, means)
        if segment.num_suffixes:
            header = replace(header, end=segment.end, segments=(*header.segments, segment))
    if len(header.segments) == known:
        raise BadFile("the input holds no text; give files with text")
    return header


def _tidied(path: Path, file: BinaryIO, header: Header, means: Means) -> Header:
    """The last segments merged, as far as they have grown too many or too like in size."""
    last = num_merged([segment.num_tokens for segment in header.segments], means.most_tokens)
    if last == 1:
        return header
    parts = header.segments[-last:]
    check_segments(mapped(file, 0, header.end), parts, path)  # what is damaged must not get a checksum that fits it
    merged = append_merged(file, header.end, parts, means)
    return replace(header, end=merged.end, segments=(*header.segments[:-last], merged))


def num_merged(sizes: Sequence[int], most: int) -> int:
    """How many of the last segments become one, of at most `most` tokens."""
    last = 1
    while last < len(sizes) and (
        sizes[-last - 1] < GROWTH * sum(sizes[-last:]) or len(sizes) - last + 1 > MOST_SEGMENTS
    ):
        last += 1
    while last > 1 and sum(sizes[-last:]) > most:
        last -= 1
    return last


def _said(file: BinaryIO, header: Header) -> Header:
    """The header on the disk, in both places; what it speaks of is there already."""
    for place in places(file):
        write_header(file, header, place)
        _to_disk(file)
    return header


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _kept_small(path: Path, file: BinaryIO, header: Header) -> Header:
    """Written anew where half of it is left over, if there is room: what was added counts without that, too."""
    try:
        if header.end - FIRST_WORD > 2 * header.num_live_words:
            return _compacted(path, file, header)
    except BadFile:
        if not file.closed:
            _check_at(file, path)
    return header


def _compacted(path: Path, old: BinaryIO, header: Header) -> Header:
    """A new file with the segments that count."""
    with _replacing(path) as file:
        segments, end = [], FIRST_WORD
        for segment in header.segments:
            _copy(old, file, segment.start, (end, segment.num_words))
            segments.append(replace(segment, start=end))
            end += segment.num_words
        header = _said(file, replace(header, end=end, segments=tuple(segments)))
        _check_at(old, path)
        if not may_replace_open():
            old.close()
        return header


def _copy(old: BinaryIO, new: BinaryIO, source: int, target: tuple[int, int]) -> None:
    """Words from `source` of the old file; target = (word of the new file, words)."""
    old.seek(source * WORD_BYTES)
    new.seek(target[0] * WORD_BYTES)
    left = target[1] * WORD_BYTES
    while left > 0 and (chunk := old.read(min(CHUNK_BYTES, left))):
        new.write(chunk)
        left -= len(chunk)


@contextmanager
def _replacing(path: Path, anew: bool = False) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` at the end; without an end, nothing is left of it."""
    with replacing(path, anew=anew) as fresh, fresh.open("w+b") as file:
        file.write(bytes(FIRST_WORD * WORD_BYTES))
        yield file


def _check_at(file: BinaryIO, path: Path) -> None:
    """Raises BadFile where an open file is no longer the one of that name."""
    if not is_at(file.fileno(), path):
        what = "replaced" if path.exists() else "removed"
        raise BadFile(f"{path} was just {what} by another process; try again")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """For writing, by nobody else."""
    if not path.exists():
        raise BadFile(f"{path} is not there; `truedraw index build` makes it")
    check_regular(path)
    with _disk_errors(path), path.open("r+b") as file:
        _lock(file, path)
        _check_at(file, path)
        yield file


def _lock(file: BinaryIO, path: Path) -> None:
    if not is_free(file.fileno()):
        raise BadFile(f"{path} is being written by another process; wait for it")


def _cut(file: BinaryIO, header: Header) -> None:
    """What an interrupted write left; where a system cannot while somebody looks at it, it is written over."""
    try:
        file.truncate(header.end * WORD_BYTES)
    except OSError:
        if may_replace_open():
            raise


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadFile(f"{path} cannot be written: {error.strerror or error}; nothing was changed") from error
