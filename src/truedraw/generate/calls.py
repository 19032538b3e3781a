"""Calls of somebody else's code, and how long they may take.

Nothing in Python can end a call from outside. So a call is looked at when it returns, and code that is not truedraw's
own runs in a thread beside: when its time is up the text goes on without it, and the thread is left to itself. Handing
a call over and back takes some 15 microseconds, which built-in parts, whose calls all come to an end, are spared.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX, Thread
from typing import Any, NamedTuple, TypeVar

from truedraw.errors import in_words
from truedraw.sampling.working_time import COMPILER, working_seconds

Found = TypeVar("Found")

NOT_RETURNED = "a call has not returned within"
"""In what is said of a call that never returned."""
SECONDS = 30.0  # that a call of a drafter may take: a hundred times what a slow draft model needs


class Order(NamedTuple):
    """A call for the thread beside, and where its outcome goes."""

    act: Callable[[], Any]
    outcome: SimpleQueue[tuple[Any, BaseException | None]]


class Server(NamedTuple):
    """A thread, where it takes orders, and what tells it to end when nobody can call any more."""

    thread: Thread
    orders: SimpleQueue[Order | None]
    end: weakref.finalize[Any, Any]

    @property
    def is_there(self) -> bool:
        """Not behind its end, nor in the child of a fork."""
        return self.end.alive and self.thread.is_alive()


class Calls:
    """Makes calls that may take `limit_seconds` each; `beside` in a thread of their own.

    `stuck` says that a call never returned: nothing else can be asked of its code, which answers one call at a time.
    `within` are the calls of what the called code is composed of. `limit` is what a user calls the limit, "" where it
    is no setting.
    """

    def __init__(
        self, limit_seconds: float = SECONDS, beside: bool = False, within: Collection[Calls] = (),
        limit: str = "draft_timeout",
    ) -> None:  # fmt: skip
        self.limit_seconds, self.beside, self.stuck = limit_seconds, beside, False
        self._within, self._limit = within, limit
        self._server: Server | None = None

    @property
    def is_usable(self) -> bool:
        """Whether neither this nor a part of it is stuck."""
        return not self.stuck and all(part.is_usable for part in self._within)

    def timed(self, act: Callable[[], Found]) -> tuple[Found, float]:
        """What `act` returns, and the seconds it took; raises what it raises, and TimeoutError where it never returns.

        A call that returns late has returned: its outcome is as good as any. What it compiled, once on a machine, does
        not count.
        """
        start = working_seconds()
        found = self._handed_over(act) if self.beside else act()
        return found, max(0.0, working_seconds() - start)

    def _handed_over(self, act: Callable[[], Found]) -> Found:
        if self.stuck:
            raise TimeoutError(self._late())
        order = Order(act, SimpleQueue())
        self._queue().put(order)
        found, error = self._awaited(order)
        if error is not None:
            raise error
        return found  # type: ignore[no-any-return]

    def _awaited(self, order: Order) -> tuple[Any, BaseException | None]:
        left, compiled = self.limit_seconds, COMPILER.spent()
        while left > 0:
            with suppress(Empty):
                return order.outcome.get(timeout=min(left, TIMEOUT_MAX))
            before, compiled = compiled, COMPILER.spent()
            left = compiled - before  # what was compiled meanwhile does not count
        self.stuck = True
        raise TimeoutError(self._late())

    def _late(self) -> str:
        named = f", the {self._limit}" if self._limit else ""
        return f"{NOT_RETURNED} {self.limit_seconds:g} s{named}"

    def _queue(self) -> SimpleQueue[Order | None]:
        """Of the thread, which begins with the first call and ends when nobody can call any more.

        What is garbage may be called once more, by what ends a run that was dropped, when the thread is over already.
        """
        if self._server is None or not self._server.is_there:
            orders = SimpleQueue[Order | None]()
            thread = Thread(target=serve, args=(orders,), name="truedraw-drafter", daemon=True)
            thread.start()
            self._server = Server(thread, orders, weakref.finalize(self, orders.put, None))
            self._server.end.atexit = False
        return self._server.orders


def serve(orders: SimpleQueue[Order | None]) -> None:
    """The thread: one call after the other, until there is a None."""
    while (order := orders.get()) is not None:
        order.outcome.put(outcome(order.act))
        del order  # what it was about shall not live on until the next one comes


def outcome(act: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """What a call returned, or raised: an interruption is the caller's, too.

    No other code may end the program: what is meant to (SystemExit) is an error of the call like any. In the caller's
    own thread it would be his, out of a handler of signals, which never runs in this one.
    """
    try:
        return act(), None
    except (Exception, KeyboardInterrupt) as error:
        return None, error
    except BaseException as error:
        failed = RuntimeError(f"a call ended in {in_words(error)}")
        failed.__cause__ = error
        return None, failed
