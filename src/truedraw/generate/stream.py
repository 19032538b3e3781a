"""The text of one run as it comes, for whoever wants nothing else of the run."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Self

from truedraw.generate.generation import Generation
from truedraw.generate.one_place import OnePlace
from truedraw.generate.pieces import Piece


class Stream(OnePlace, Iterator[Piece]):
    """Threads that share it get a piece each, in turn; any of them may close it, a signal handler too, and so does the
    end of a `with` block."""

    instead = "open another one with model.stream()"

    def __init__(self, run: Generation) -> None:
        self._run, self._pieces = run, run.pieces()
        self._reading = Lock()

    def __next__(self) -> Piece:
        with self._reading:
            return next(self._pieces)

    def __repr__(self) -> str:
        return repr(self._run).replace(type(self._run).__name__, type(self).__name__, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the run: now, or where somebody is just reading, after the pass that is being computed.

        Whoever reads then gets what was written so far.
        """
        try:
            self._pieces.close()
        except ValueError:  # somebody is just reading
            self._run.cancel()
        else:
            self._run.close()
