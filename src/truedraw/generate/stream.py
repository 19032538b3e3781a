"""The text of one run as it comes, for whoever wants nothing else of the run."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock

from truedraw.generate.generation import Generation, Piece


class Stream(Iterator[Piece]):
    """Threads that share it get a piece each, in turn; any of them may close it, a signal handler too."""

    def __init__(self, run: Generation) -> None:
        self._run, self._pieces = run, run.pieces()
        self._reading = Lock()

    def __next__(self) -> Piece:
        with self._reading:
            return next(self._pieces)

    def close(self) -> None:
        """End the run: now, or where somebody is just reading, after the pass that is being computed.

        Whoever reads then gets what was written so far.
        """
        if not self._reading.acquire(blocking=False):
            self._run.cancel()
            return
        try:
            self._pieces.close()
            self._run.close()
        finally:
            self._reading.release()
