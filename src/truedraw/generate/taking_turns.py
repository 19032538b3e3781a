"""A lock whose holders take turns: whoever has waited longest comes next, so that no thread keeps another one out."""

from __future__ import annotations

from collections import deque
from threading import Lock, RLock, get_ident
from types import TracebackType


class TakingTurns:
    """A context manager for several threads; the one inside may enter again."""

    def __init__(self) -> None:
        self._inside: int | None = None  # a thread
        self._depth = 0
        self._waiting: deque[tuple[int, Lock]] = deque()
        self._guard = RLock()  # a signal handler may come in between

    def __enter__(self) -> None:
        me = get_ident()
        with self._guard:
            if self._inside in (None, me):
                self._inside, self._depth = me, self._depth + 1
                return
            turn = me, Lock()
            turn[1].acquire()
            self._waiting.append(turn)
        try:
            turn[1].acquire()
        except BaseException:  # an interruption
            self._give_up(turn)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth:
                return
            self._inside = None
            if self._waiting:
                (self._inside, turn), self._depth = self._waiting.popleft(), 1
                turn.release()

    def _give_up(self, turn: tuple[int, Lock]) -> None:
        with self._guard:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return
        self.__exit__(None, None, None)  # it was handed over just now
