"""What may come in between: wherever a function of Python begins and wherever a call has returned, others get in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path


def between(act: Callable[[], object], meanwhile: Callable[[], object], *files: str) -> object:
    """What `act` returns; `meanwhile` is called at each such place of code in files of these names, in any if none."""

    def look(frame, event, _) -> None:
        if event in ("call", "c_return") and (not files or Path(frame.f_code.co_filename).name in files):
            meanwhile()

    sys.setprofile(look)
    try:
        return act()
    finally:
        sys.setprofile(None)


def between_once(act: Callable[[], object], place: int, meanwhile: Callable[[], object], *files: str) -> object:
    """The same at one of these places alone, counted from 0."""
    places = count()
    return between(act, lambda: meanwhile() if next(places) == place else None, *files)


def interrupted(act: Callable[[], object], place: int, *files: str) -> bool:
    """Whether there was such a place; there, counted from 0, act() is interrupted as by ctrl-C, which must reach us."""
    left = [place]

    def meanwhile() -> None:
        left[0] -= 1
        if left[0] == -1:
            sys.setprofile(None)
            raise KeyboardInterrupt

    try:
        between(act, meanwhile, *files)
    except KeyboardInterrupt:
        assert left[0] < 0
        return True
    assert left[0] >= 0
    return False
