"""Conversions that are of no use any more: their file has changed since, or they were written in an earlier form."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from truedraw.models.cache import staging
from truedraw.sampling.values import parsed

INDEX = "index.json"
ORIGIN = "origin"  # in an index


class Origin(NamedTuple):
    """What constants were converted from, and how; written beside them."""

    path: str  # of the file or folder
    policy: str  # and the name of the form, which earlier ones lack
    version: int  # of the form


def drop_replaced(folder: Path, key: str, origin: Origin) -> None:
    """Remove what the conversion `key` of this origin replaces: others of the same path and policy, no newer in form.

    Processes that have mapped one keep it; where the system forbids removing it meanwhile, it stays.
    """
    policies = origin.policy, origin.policy.partition(" ")[0]

    def is_replaced(name: str, found: Origin) -> bool:
        same = found.path == origin.path and found.policy in policies
        return name != key and same and found.version <= origin.version

    _drop(folder, is_replaced)


def drop_orphans(folder: Path, kind: str) -> None:
    """Remove what was made of files that are gone, of a policy that begins with this word."""

    def is_orphan(_name: str, found: Origin) -> bool:
        return found.policy.partition(" ")[0] == kind and not Path(found.path).exists()

    _drop(folder, is_orphan)


def _drop(folder: Path, goes: Callable[[str, Origin], bool]) -> None:
    """Of the conversions those that are to go, by their keys and origins."""
    for index in folder.glob(f"*/{INDEX}"):
        entry = index.parent
        if _says(index, partial(goes, entry.name)):
            with suppress(OSError), staging(folder, entry.name, "converts weights") as corner:
                entry.replace(corner / entry.name)  # which goes with the corner


def _says(index: Path, goes: Callable[[Origin], bool]) -> bool:
    """False for an index that cannot be read, or does not say what it is of."""
    try:
        return goes(Origin(**parsed(index.read_bytes())[ORIGIN]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
