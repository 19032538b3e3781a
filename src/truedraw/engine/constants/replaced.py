"""Conversions that are of no use any more: their file has changed since, or they were written in an earlier form."""

from __future__ import annotations

from contextlib import suppress
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
    for index in folder.glob(f"*/{INDEX}"):
        entry = index.parent
        if entry.name != key and _is_replaced(index, origin):
            _drop(folder, entry)


def drop_orphans(folder: Path, kind: str) -> None:
    """Remove what was made of files that are gone, of a policy that begins with this word."""
    for index in folder.glob(f"*/{INDEX}"):
        if _is_orphan(index, kind):
            _drop(folder, index.parent)


def _drop(folder: Path, entry: Path) -> None:
    with suppress(OSError), staging(folder, entry.name) as corner:
        entry.replace(corner / entry.name)  # which goes with the corner


def _is_orphan(index: Path, kind: str) -> bool:
    try:
        found = Origin(**parsed(index.read_bytes())[ORIGIN])
        return found.policy.partition(" ")[0] == kind and not Path(found.path).exists()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _is_replaced(index: Path, origin: Origin) -> bool:
    """False for an index that cannot be read, or does not say what it is of."""
    try:
        found = Origin(**parsed(index.read_bytes())[ORIGIN])
        same = found.path == origin.path and found.policy in (origin.policy, origin.policy.partition(" ")[0])
        return same and found.version <= origin.version
    except (OSError, ValueError, KeyError, TypeError):
        return False
