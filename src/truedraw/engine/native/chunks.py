"""A text in chunks of slots: what queries find in each by itself, and what they find in all of them.

    in chunk c:  m_c = max s_i,  l_c = sum 2**(s_i - m_c),  o_c = sum 2**(s_i - m_c) v_i
    in all:      m = max m_c,  o = sum 2**(m_c - m) o_c / sum 2**(m_c - m) l_c

(Milakov and Gimelshein 1805.02867; a text's chunks on several processors: Dao et al., Flash-Decoding, 2023). In a chunk
powers are rounded to bfloat16, which they are multiplied as, before either sum. Chunks are counted along the text, and
added up in that order, whoever looked through them: so few heads of keys give work to many threads, and a row's sums
are the same with any number of them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import apart, inlined
from truedraw.engine.native.machine import from_bfloat16, ordered, unordered
from truedraw.engine.native.softly import FREE, exp, short_power
from truedraw.threads.atomics import taken
from truedraw.threads.stages import WORDS

CHUNK = 512  # slots; with half as many prompts of 3,000 tokens take 1.5 % longer
RUNS = 3  # of chunks that a thread looks through, or more: the others wait for one at most
CROWD = 4  # spans and heads of keys for each thread, from which on a thread looks through all chunks of each
LN_2 = np.float32(math.log(2))
SEVERAL = 3  # chunks, from which on they are shared: the second of two may be short, and a thread idle
Shared = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]


class Findings:
    """What threads find in chunks, for all of them: memory that is kept for the next pass.

    Of each piece, a span of rows and a head of keys, `lines` queries; `size` places of a head of values.
    """

    def __init__(self, heads: int, lines: int, size: int, threads: int) -> None:
        self._heads, self._lines, self._size, self._threads = heads, lines, size, threads
        self._alone = self._held = self._made(0, 0)
        self._room = 0

    def of(self, spans: int, longest: int) -> tuple[int, Shared]:
        """For a pass with so many spans, the longest text of so many slots: the pieces whose runs are counted, and
        tops, totals and sums of each line and chunk, and of each line the chunks that it sees. 0 and nothing: each
        thread has its own."""
        pieces, chunks = spans * self._heads, longest // CHUNK + 1
        if not are_shared(pieces, chunks, self._threads):
            return 0, self._alone
        if pieces * chunks > self._room:
            self._room = 2 * pieces * chunks
            self._held = self._made(self._room, CROWD * self._threads)
        return pieces, self._held

    def _made(self, chunks: int, pieces: int) -> Shared:
        tops, totals = (np.empty(chunks * self._lines, np.float32) for _ in range(2))
        sums = np.empty((chunks * self._lines, self._size), np.float32)
        return tops, totals, sums, np.empty(pieces * self._lines, np.int64)


def are_shared(pieces: int, chunks: int, threads: int) -> bool:
    """Whether threads share the chunks of some spans and heads of keys, and not these alone."""
    return threads > 1 and chunks >= SEVERAL and pieces < CROWD * threads


@inlined()
def run_of(pieces, chunks, threads):  # type: ignore[no-untyped-def]
    """Chunks that a thread looks through, one behind the other, of so many in each of some pieces."""
    return max(1, pieces * chunks // (RUNS * threads))


@inlined()
def is_last(counters, stage, runs):  # type: ignore[no-untyped-def]
    """Whether all other runs of a piece are done, too, which are counted as those of a stage of its own."""
    return runs == 1 or taken(counters, WORDS * stage) == runs - 1


@apart(fastmath=FREE, error_model="numpy")
def soften(scores, shares):  # type: ignore[no-untyped-def]
    """shares, of as many scores, 2**(score - the largest) as bfloat16; the largest, and the sum of these."""
    top = ordered(scores[0])
    for at in range(len(scores)):
        top = max(top, ordered(scores[at]))
    largest, total = unordered(top), np.float32(0)
    for at in range(len(scores)):
        share = short_power(scores[at] - largest)
        shares[at] = share
        total += from_bfloat16(share)
    return largest, total


@apart(fastmath=FREE, error_model="numpy")
def gather(tops, totals, sums, first, gap, chunks, out):  # type: ignore[no-untyped-def]
    """out [head_dim] of one query, whose findings stand at line `first`, and `gap` lines further for each chunk."""
    top = ordered(tops[first])
    for chunk in range(1, chunks):
        top = max(top, ordered(tops[first + chunk * gap]))
    largest, total = unordered(top), np.float32(0)
    for k in range(len(out)):
        out[k] = np.float32(0)
    for chunk in range(chunks):
        line = first + chunk * gap
        share = exp((tops[line] - largest) * LN_2)
        total += share * totals[line]
        for k in range(len(out)):
            out[k] += share * sums[line, k]
    for k in range(len(out)):
        out[k] = out[k] / total
