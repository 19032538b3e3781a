"""Helpers of a crew that look for work, or do not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from truedraw.threads.atomics import APART
from truedraw.threads.board import AWAKE, NUMBER
from truedraw.threads.crew import Crew

MOST_TRIES = 1000
QUIET = 10  # looks one behind the other


def wake(crew: Crew) -> None:
    """They look, or are about to; not for long, so that they may be asleep again."""
    for helper in crew._helpers:
        helper.call()
    time.sleep(1e-4)


def fall_asleep(crew: Crew) -> None:
    """Nobody looks any more; a call that came late wakes a helper once more."""
    quiet = 0
    while quiet < QUIET:
        time.sleep(1e-2)
        quiet = 0 if crew.board[AWAKE::APART].any() else quiet + 1


def helped(crew: Crew, asked: Callable[[], Any]) -> Any:
    """What it gives where helpers were offered a part in it, as they may fall asleep before."""
    for _ in range(MOST_TRIES):
        jobs = int(crew.board[NUMBER])
        wake(crew)
        found = asked()
        if crew.board[NUMBER] > jobs:
            return found
    raise AssertionError("nobody was offered a part")
