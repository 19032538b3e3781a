"""Writing a segment behind the end of a file: tokens as they come, then their suffixes, sorted in runs and merged.

Memory holds one run. What is merged is mapped, so a segment may be larger than memory; the merge reads the tokens, half
of a segment, out of order and is slow once they do not fit. Runs lie in nameless files beside the index until merged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import numpy as np

from truedraw.draft.index.layout import DEPTH, END, WORD_BYTES, Segment, Words, crc_of
from truedraw.draft.index.sorting import BYTES_PER_SORTED_TOKEN, merge, sorted_places

MOST_TOKENS = 2**31 - 2 * DEPTH  # of a segment: places are int32
FEWEST_SORTED = 1 << 10  # tokens of a run at least, however little memory is given
COPIED_WORDS = 1 << 20  # at once
SORTING, MERGING = "sorting", "merging"

Tell = Callable[[str, int, int | None], None]
"""(what, bytes done, bytes in all)."""
Run = tuple[Words, int]
"""Sorted places, and what must be added to them."""


def quiet(what: str, done: int, total: int | None) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a write may use."""

    memory_bytes: int
    folder: Path  # for runs
    most_tokens: int = MOST_TOKENS  # of a segment
    tell: Tell = quiet

    @property
    def run_tokens(self) -> int:
        """Sorted at once."""
        return max(FEWEST_SORTED, self.memory_bytes // BYTES_PER_SORTED_TOKEN)


class Feed:
    """Arrays of tokens with END behind every text, cut into parts of at most so many tokens."""

    def __init__(self, arrays: Iterable[Words]) -> None:
        self._arrays = (array for array in arrays if len(array))
        self._next: Words | None = next(self._arrays, None)

    @property
    def has_more(self) -> bool:
        """Whether something is left."""
        return self._next is not None

    def upto(self, most: int) -> Iterator[Words]:
        """The next tokens; a text that is cut in two goes on in the next part."""
        while self._next is not None and most > 0:
            array = self._next
            yield array[:most]
            self._next = array[most:] if len(array) > most else next(self._arrays, None)
            most -= len(array)


def append(file: BinaryIO, start: int, feed: Feed, means: Means) -> Segment:
    """A segment at word `start`, of what the feed has next."""
    num_tokens, num_texts = _write_tokens(file, start, feed.upto(means.most_tokens - 1))
    tokens = mapped(file, start, num_tokens)
    return _finished(file, (start, num_tokens, num_texts), _sorted_runs(tokens, means), means)


def append_merged(file: BinaryIO, start: int, parts: Sequence[Segment], means: Means) -> Segment:
    """A segment at word `start` with the texts of others of the same file, whose sorted suffixes are merged."""
    num_tokens = _write_tokens(file, start, (c for part in parts for c in _copied(file, part)))[0]
    shifts = np.cumsum([0, *(part.num_tokens for part in parts)]).tolist()
    runs = [(suffixes(file, part), shift) for part, shift in zip(parts, shifts[:-1], strict=True)]
    return _finished(file, (start, num_tokens, sum(part.num_texts for part in parts)), runs, means)


def mapped(file: BinaryIO, start: int, count: int, mode: Any = "r") -> Words:
    """Words of a file."""
    if not count:  # which no system maps
        return np.zeros(0, np.int32)
    return np.asarray(np.memmap(file, np.int32, mode, start * WORD_BYTES, (count,)))


def room(file: BinaryIO, start: int, count: int) -> Words:
    """Words to write, on a disk that is sure to hold them: a full one is an error here, and would be a crash later."""
    if count and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), start * WORD_BYTES, count * WORD_BYTES)
    return mapped(file, start, count, "r+")


def suffixes(file: BinaryIO, segment: Segment) -> Words:
    """The sorted places of a segment."""
    return mapped(file, segment.start + segment.num_tokens, segment.num_suffixes)


def _copied(file: BinaryIO, segment: Segment) -> Iterator[Words]:
    for first in range(0, segment.num_tokens, COPIED_WORDS):
        count = min(COPIED_WORDS, segment.num_tokens - first)
        yield mapped(file, segment.start + first, count)


def _write_tokens(file: BinaryIO, start: int, arrays: Iterable[Words]) -> tuple[int, int]:
    """(tokens, texts) written; END behind the last text, cut or not."""
    num_tokens = num_texts = 0
    last = END
    for array in arrays:
        file.seek((start + num_tokens) * WORD_BYTES)
        file.write(np.asarray(array, np.int32).tobytes())
        num_tokens, num_texts, last = num_tokens + len(array), num_texts + int((array == END).sum()), array[-1]
    if last != END:
        file.seek((start + num_tokens) * WORD_BYTES)
        file.write(np.array([END], np.int32).tobytes())
        num_tokens, num_texts = num_tokens + 1, num_texts + 1
    file.flush()
    return num_tokens, num_texts


def _sorted_runs(tokens: Words, means: Means) -> list[Run]:
    """Places of all suffixes, sorted run by run."""
    runs: list[Run] = []
    for first in range(0, len(tokens), means.run_tokens):
        last = min(first + means.run_tokens, len(tokens))
        means.tell(SORTING, first * WORD_BYTES, len(tokens) * WORD_BYTES)
        places = sorted_places(np.array(tokens[first : last + DEPTH]), last - first)
        runs.append((places if last == len(tokens) and not runs else _kept(places, means.folder), first))
    means.tell(SORTING, len(tokens) * WORD_BYTES, len(tokens) * WORD_BYTES)
    return runs


def _kept(places: Words, folder: Path) -> Words:
    """The same, in a file."""
    kept = _passing(len(places), folder)
    kept[:] = places
    return kept


def _passing(count: int, folder: Path) -> Words:
    """Words in a file that is gone when nobody looks at them any more."""
    with TemporaryFile(dir=folder) as file:
        return room(file, 0, count)


def _finished(file: BinaryIO, head: tuple[int, int, int], runs: list[Run], means: Means) -> Segment:
    """The segment whose tokens are written, with its suffixes behind them."""
    start, num_tokens, num_texts = head
    tokens = mapped(file, start, num_tokens)
    count, done = num_tokens - num_texts, 0
    while len(runs) > 2:
        means.tell(MERGING, done, None)
        pairs = [runs[i : i + 2] for i in range(0, len(runs), 2)]
        runs = [_merged(tokens, pair, means.folder) if len(pair) == 2 else pair[0] for pair in pairs]
        done += count * WORD_BYTES
    _write_suffixes(file, start + num_tokens, tokens, runs)
    found = Segment(start, num_tokens, num_texts, checksum=0)
    return replace(found, checksum=crc_of(mapped(file, found.start, found.num_words)))


def _merged(tokens: Words, pair: Sequence[Run], folder: Path) -> Run:
    (first, base), (second, shift) = pair
    out = _passing(len(first) + len(second), folder)
    merge(tokens[base:], first, second, shift - base, out)
    return out, base


def _write_suffixes(file: BinaryIO, start: int, tokens: Words, runs: Sequence[Run]) -> None:
    """Of one run or two, the first of which begins with the segment."""
    out = room(file, start, sum(len(places) for places, _ in runs))
    nothing = np.zeros(0, np.int32), 0
    (first, _), (second, shift) = (*runs, nothing)[:2]
    merge(tokens, first, second, shift, out)
