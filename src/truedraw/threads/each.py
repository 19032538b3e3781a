"""Several kept jobs as one: each is done by one thread, whoever is free, and none waits for another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import compiled, inlined
from truedraw.threads.board import share, together
from truedraw.threads.borrowing import borrowed
from truedraw.threads.jobs import call, this_call
from truedraw.threads.kept import Kept
from truedraw.threads.stages import counters, done, next_piece

STAGES = 2
"""What is taken: a place among those that have memory of their own, and jobs."""


class Each:
    """Jobs of each place, whose jobs work in the same memory; `asked` is what each_done takes, while this is held."""

    def __init__(self, places: Sequence[Sequence[Kept]]) -> None:
        taken, failed = counters(STAGES), np.zeros(1, np.int64)
        self._job = Kept(each, (np.stack([addresses(jobs) for jobs in places]), taken, failed), places)
        self.asked = self._job.addresses, taken, failed


def addresses(jobs: Sequence[Kept]) -> NDArray[np.int64]:
    """Of some jobs [jobs, 2]."""
    return np.array([job.addresses for job in jobs], np.int64)


@inlined()
def each_done(board, asked):  # type: ignore[no-untyped-def]
    """Together with whoever waits at the board; whether one has raised."""
    job, taken, failed = asked
    taken[:], failed[0] = 0, 0
    return together(board, job[0], job[1]) or failed[0] != 0


@compiled(nogil=True, error_model="numpy")
def each(board, given, takes_part):  # type: ignore[no-untyped-def]
    """A job as board.py has them, in which as many threads take part as there are places: see Each."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    jobs, taken, failed = borrowed(given)
    place = next_piece(taken, 0, jobs.shape[0])
    if place < 0:
        return
    job = next_piece(taken, 1, jobs.shape[1])
    while job >= 0:
        if call(jobs[place, job, 0], jobs[place, job, 1]):
            failed[0] = 1
        job = done(taken, 1, jobs.shape[1])
