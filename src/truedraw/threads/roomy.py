"""A call of native code that goes deeper than the usual stack holds, which would end the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
SETTING = threading.Lock()  # the size is that of all threads that begin meanwhile
PAGE = 4096  # stacks are made of whole ones


def with_stack(num_bytes: int, call: Callable[[], Found]) -> Found:
    """What the call returns or raises, from a thread of its own; raises MemoryError where there is no such stack."""
    found: list[Found] = []
    wrong: list[BaseException] = []

    def look() -> None:
        try:
            found.append(call())
        except BaseException as error:
            wrong.append(error)

    thread = _begun(-(-num_bytes // PAGE) * PAGE, look)
    thread.join()
    if wrong:
        raise wrong[0]
    return found[0]


def _begun(stack_bytes: int, look: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=look, daemon=True)
    with SETTING:
        usual = threading.stack_size(stack_bytes)
        try:
            thread.start()
        except RuntimeError as error:
            raise MemoryError(f"no stack of {stack_bytes} bytes") from error
        finally:
            threading.stack_size(usual)
    return thread
