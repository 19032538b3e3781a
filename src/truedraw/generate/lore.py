"""What is known of drafters, by their names: runs learn from one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

MOST_DRAFTERS = 64  # remembered; a further one pushes out the oldest

Name = TypeVar("Name")
Lore = TypeVar("Lore")


def recalled(known: dict[Name, Lore], name: Name, new: Callable[[], Lore]) -> Lore:
    """What is known under a name, something new the first time."""
    if name not in known:
        while len(known) >= MOST_DRAFTERS:
            del known[next(iter(known))]
        known[name] = new()
    return known[name]
