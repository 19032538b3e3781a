"""Which of the contracts that are optional somebody's object keeps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import get_annotations
from typing import Any, TypeGuard, TypeVar

Able = TypeVar("Able")


def is_able(found: object, contract: Callable[..., Able]) -> TypeGuard[Able]:
    """Whether it has all that a protocol names, also where that comes by `__getattr__`, as of a wrapper.

    isinstance asks for it so before Python 3.12 alone.
    """
    return all(hasattr(found, name) for name in _members(contract))


@cache
def _members(contract: Any) -> frozenset[str]:
    kinds = [kind for kind in contract.__mro__ if "_is_protocol" in vars(kind)]
    named = {name for kind in kinds for name in (*vars(kind), *get_annotations(kind))}
    return frozenset(name for name in named if name == "__call__" or not name.startswith("_"))
