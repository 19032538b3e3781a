"""Records of numbers, each of which is a sum."""

from __future__ import annotations

from typing import Any


def add_up(sums: Any, further: Any) -> None:
    """Add to a record with slots, field by field, another one of its kind."""
    for name in sums.__slots__:
        setattr(sums, name, getattr(sums, name) + getattr(further, name))
