"""How threads share a pass: by stages, each so many pieces that do not depend on one another.

Whoever is free takes the next piece, and nobody begins the next stage before all pieces are done. Nobody has to be
there: a thread that comes late, or is not let run, takes no pieces. Who computes a piece changes nothing in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import inlined
from truedraw.threads.atomics import APART, give_way, seen, taken

AT_ONCE = 0.85  # of what lies in a row, that threads take in one stretch each: what comes next is asked for meanwhile
BEHIND = 2  # stretches a thread of the rest, so that one that is held up does not keep the others waiting
PATIENCE = 1 << 16  # looks at a counter, a tenth of a millisecond, before another thread may have the processor
WORDS = 2 * APART  # of a stage's counters: pieces that are taken, and that are done


def counters(stages: int) -> NDArray[np.int64]:
    """For so many stages of one call."""
    return np.zeros(stages * WORDS, np.int64)


@inlined()
def next_piece(counters, stage, pieces):  # type: ignore[no-untyped-def]
    """A piece of a stage that nobody else has; -1: there is none left. counters: see there."""
    piece = taken(counters, WORDS * stage)
    return piece if piece < pieces else -1


@inlined()
def done(counters, stage, pieces):  # type: ignore[no-untyped-def]
    """One piece of it is; the next one, as next_piece."""
    taken(counters, WORDS * stage + APART)
    return next_piece(counters, stage, pieces)


@inlined()
def ended(counters, stage, pieces):  # type: ignore[no-untyped-def]
    """Wait until all of them are; the next stage."""
    looks = 0
    while seen(counters, WORDS * stage + APART) < pieces:
        looks += 1
        if looks % PATIENCE == 0:
            give_way()
    return stage + 1


@inlined()
def num_stretches(tiles, threads):  # type: ignore[no-untyped-def]
    """Pieces that tiles in a row are shared out in: a long one for each thread, then short ones for whoever is free."""
    rest = tiles - threads * _long(tiles, threads)
    short = _short(rest, threads)
    return threads + (rest + short - 1) // short


@inlined()
def stretch(piece, tiles, threads):  # type: ignore[no-untyped-def]
    """The first tile of a piece, and the one behind its last."""
    long = _long(tiles, threads)
    if piece < threads:
        return piece * long, (piece + 1) * long
    rest = tiles - threads * long
    short = _short(rest, threads)
    begin = threads * long + (piece - threads) * short
    return begin, min(tiles, begin + short)


@inlined()
def _long(tiles, threads):  # type: ignore[no-untyped-def]
    """Tiles of each thread's long stretch; there may be none."""
    return min(tiles // threads, int(np.rint(AT_ONCE * tiles / threads)))


@inlined()
def _short(rest, threads):  # type: ignore[no-untyped-def]
    """Tiles of a short one."""
    return max(1, rest // (BEHIND * threads))
