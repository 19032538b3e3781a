"""How often each n-gram occurs in some texts, in one array a column: a trie in the order of its levels.

Level n holds the n-grams, sorted by their first n - 1 tokens and then by the last one, so that what followed a context
lies side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import Ints

Column = NDArray[np.int32]
MOST_ORDER = 5  # tokens of an n-gram: more gain nothing, and each costs about as much memory as the texts


@dataclass(frozen=True, slots=True, eq=False)
class NgramCounts:
    """A trie of n-grams. What followed node i stands on the next level, at begins[i] to begins[i + 1]."""

    tokens: Column  # [nodes], the last token of each n-gram
    counts: Column  # [nodes]
    begins: Column  # [nodes of all levels but the last, and 1]
    levels: tuple[int, ...]  # nodes of each level, [order]
    num_tokens: int  # in the texts
    num_texts: int

    @property
    def order(self) -> int:
        """Tokens of the longest n-grams."""
        return len(self.levels)

    @property
    def num_bytes(self) -> int:
        """Of the columns."""
        return self.tokens.nbytes + self.counts.nbytes + self.begins.nbytes


@dataclass(frozen=True, slots=True)
class Level:
    """The n-grams of one length."""

    tokens: Ints  # [nodes]
    counts: Ints  # [nodes]
    of: Ints  # [tokens of the texts], the node of the n-gram that begins there; -1 where the text ends before
    begins: Ints  # [nodes of the level above, and 1]: which nodes are below each of them


def count_ngrams(texts: Iterable[Sequence[int]], order: int) -> NgramCounts:
    """The n-grams of up to `order` tokens, none of them across two texts. Sorting takes seconds for millions."""
    arrays = [np.asarray(text, np.int64) for text in texts]
    flat = np.concatenate([*arrays, np.empty(0, np.int64)])
    lengths = np.array([len(array) for array in arrays], np.int64)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(flat))  # [tokens], to the end of the text
    levels = [_level(flat, flat, left > 0, 1)]
    for n in range(2, order + 1):
        below = levels[-1].of * (int(flat.max(initial=0)) + 1) + np.roll(flat, 1 - n)
        levels.append(_level(below, flat, left >= n, len(levels[-1].tokens)))
    return _trie(levels, len(flat), len(arrays))


def _level(keys: Ints, flat: Ints, whole: NDArray[np.bool_], num_above: int) -> Level:
    """The n-grams that are `whole`; a key is the node above times the width of the vocabulary, and the last token."""
    found, inverse, counts = np.unique(keys[whole], return_inverse=True, return_counts=True)
    of = np.full(len(flat), -1, np.int64)
    of[whole] = inverse
    width = int(flat.max(initial=0)) + 1
    begins = np.searchsorted(found, np.arange(num_above + 1) * width)
    return Level(found % width, counts, of, begins)


def _trie(levels: Sequence[Level], num_tokens: int, num_texts: int) -> NgramCounts:
    ends = np.cumsum([len(level.tokens) for level in levels])
    begins = [level.begins[:-1] + end for level, end in zip(levels[1:], ends, strict=False)]
    return NgramCounts(
        tokens=np.concatenate([level.tokens for level in levels]).astype(np.int32),
        counts=np.concatenate([level.counts for level in levels]).astype(np.int32),
        begins=np.concatenate([*begins, ends[-1:]]).astype(np.int32),
        levels=tuple(len(level.tokens) for level in levels),
        num_tokens=num_tokens,
        num_texts=num_texts,
    )


def without_rare(counts: NgramCounts, least: int) -> NgramCounts:
    """Without n-grams of 3 or more tokens that occurred fewer than `least` times: a fraction of the memory."""
    ends = np.cumsum(counts.levels)
    kept = counts.counts >= least
    kept[: ends[min(1, len(ends) - 1)]] = True
    before = np.concatenate(([0], np.cumsum(kept)))  # [nodes + 1], those kept among the first so many
    parents = kept[: len(counts.begins) - 1]
    return NgramCounts(
        tokens=counts.tokens[kept],
        counts=counts.counts[kept],
        begins=before[np.append(counts.begins[:-1][parents], counts.begins[-1])].astype(np.int32),
        levels=tuple(int(n) for n in np.diff(np.concatenate(([0], before[ends])))),
        num_tokens=counts.num_tokens,
        num_texts=counts.num_texts,
    )
