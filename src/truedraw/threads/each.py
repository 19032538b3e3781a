"""Several kept jobs as one: each is done by one thread, whoever is free, and none waits for another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import compiled
from truedraw.threads.board import share
from truedraw.threads.borrowing import borrowed
from truedraw.threads.jobs import call, this_call
from truedraw.threads.kept import Kept
from truedraw.threads.stages import counters, done, next_piece

STAGES = 2
"""What is taken: a place among those that have memory of their own, and jobs."""


class Each:
    """Jobs of each place, whose jobs work in the same memory; `job` is all of them. Before each call `counters` are set
    to 0; behind it `failed` is not 0 where one has raised."""

    def __init__(self, places: Sequence[Sequence[Kept]]) -> None:
        self.counters, self.failed = counters(STAGES), np.zeros(1, np.int64)
        self.given = np.stack([addresses(jobs) for jobs in places]), self.counters, self.failed
        self.job = Kept(each, self.given, places)


def addresses(jobs: Sequence[Kept]) -> NDArray[np.int64]:
    """Of some jobs [jobs, 2]."""
    return np.array([job.addresses for job in jobs], np.int64)


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
