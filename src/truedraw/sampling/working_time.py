"""A clock that stands still while kernels are compiled.

That happens once on a machine, takes seconds, and says nothing of how long the same run takes the next time. A kernel
is compiled when a law, a drafter or a rule first calls it, in the middle of a round.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any


class Compiler:
    """How long the compiler has worked since `watch`; one thing at a time, under its own lock.

    `begins` is called once, when it first has something to do.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.begins: Callable[[], None] | None = None
        self._depth, self._start = 0, 0.0
        self._listener: Any = None

    def begin(self) -> None:
        """A function is compiled, perhaps for another one that is."""
        if not self._depth:
            self._start = perf_counter()
            self.announce()
        self._depth += 1

    def announce(self) -> None:
        """Something is being compiled, here or by somebody else."""
        begins, self.begins = self.begins, None
        if begins is not None:
            begins()

    def end(self) -> None:
        """It is done; what had begun before `watch` does not count."""
        self._depth = max(0, self._depth - 1)
        if not self._depth and self._start:
            self.seconds += perf_counter() - self._start
            self._start = 0.0

    def spent(self) -> float:
        """`seconds`, and those of what it is working at now."""
        start = self._start  # first: what ends meanwhile counts twice for a moment, and never not at all
        return self.seconds + (perf_counter() - start if start else 0.0)

    def watch(self) -> None:
        """From here on; loads the compiler."""
        from numba.core import event

        if self._listener is None:
            self._listener = _listener(event.Listener, self)
            event.register("numba:compile", self._listener)


def _listener(kind: type, compiler: Compiler) -> Any:
    """Numba's own class, which there is only once numba is loaded, around the two calls."""
    calls = {"on_start": lambda _self, _event: compiler.begin(), "on_end": lambda _self, _event: compiler.end()}
    return type("Listener", (kind,), calls)()


COMPILER = Compiler()
"""Of this process: there is only one."""


def working_seconds() -> float:
    """time.perf_counter without what the compiler took since COMPILER.watch(); only differences mean anything."""
    return perf_counter() - COMPILER.spent()
