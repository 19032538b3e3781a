"""A clock that stands still while kernels are compiled.

That happens once on a machine, takes seconds, and says nothing of how long the same run takes the next time. A kernel
is compiled when a law, a drafter or a rule first calls it, in the middle of a round.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

State = tuple[float, dict[str, float] | None]
"""Seconds of what is done, and, while something is being compiled, when that began."""


class Compiler:
    """How long the compiler has worked since `watch`; one thing at a time, under its own lock.

    `begins` is called once, when it first has something to do.
    """

    def __init__(self) -> None:
        self.begins: Callable[[], None] | None = None
        self._depth = 0
        self._listener: Any = None
        self._state: State = 0.0, None

    @property
    def seconds(self) -> float:
        """Of what is done."""
        return self._state[0]

    def begin(self) -> None:
        """A function is compiled, perhaps for another one that is."""
        if not self._depth:
            starts: dict[str, float] = {}
            self._state = self.seconds, starts
            _started(starts, perf_counter())
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
        if not self._depth and self._state[1] is not None:
            self._state = self.spent(), None

    def spent(self) -> float:
        """`seconds`, and those of what it is working at now."""
        return self.read()[1]

    def read(self) -> tuple[float, float]:
        """(time.perf_counter, what was spent by then), of one moment: whatever begins or ends meanwhile."""
        while True:
            state, now = self._state, perf_counter()
            if state is self._state:
                seconds, starts = state
                return now, seconds + (0.0 if starts is None else max(0.0, now - _started(starts, now)))

    def watch(self) -> None:
        """From here on; loads the compiler."""
        from numba.core import event

        if self._listener is None:
            self._listener = _listener(event.Listener, self)
            event.register("numba:compile", self._listener)


def _started(starts: dict[str, float], now: float) -> float:
    """When it began: now, for the first who asks. Whoever asked before it was known has been told an earlier time."""
    return starts.setdefault("start", now)


def _listener(kind: type, compiler: Compiler) -> Any:
    """Numba's own class, which there is only once numba is loaded, around the two calls."""
    calls = {"on_start": lambda _self, _event: compiler.begin(), "on_end": lambda _self, _event: compiler.end()}
    return type("Listener", (kind,), calls)()


COMPILER = Compiler()
"""Of this process: there is only one."""


def working_seconds() -> float:
    """time.perf_counter without what the compiler took since COMPILER.watch(); only differences mean anything.

    It never goes back, in whichever threads it is read.
    """
    now, spent = COMPILER.read()
    return now - spent
