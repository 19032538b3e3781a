"""How often Python looks for garbage: a command makes a few hundred thousand objects that stay, and then ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

USUAL = gc.get_threshold()
FEW = 20_000  # objects made between two looks while a command starts; by default 700, of which a start makes 250,000


def seldom_looked_for() -> None:
    """While a command starts, whose objects stay."""
    gc.set_threshold(FEW, *USUAL[1:])


@contextmanager
def frozen() -> Iterator[None]:
    """What there is by now is not garbage: to look through all that loading has left takes as long as ten passes."""
    gc.freeze()
    gc.set_threshold(*USUAL)
    try:
        yield
    finally:
        gc.unfreeze()


def never_looked_for_again() -> None:
    """All is said; as a process ends, Python would look through everything several times for what could be freed."""
    gc.freeze()
