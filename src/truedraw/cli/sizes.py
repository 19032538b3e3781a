"""Whole numbers in a row, as in --batch-sizes 1,8,64."""

from __future__ import annotations

from truedraw.errors import BadParameter


def sizes_of(name: str, text: str | None) -> list[int]:
    """Whole numbers from 1 out of "1,8,64", none out of nothing; raises BadParameter."""
    parts = text.split(",") if text else []
    if not all(part.strip().isascii() and part.strip().isdigit() and int(part) > 0 for part in parts):
        raise BadParameter(name, f"got {text!r}; give whole numbers from 1, as in 1,8,64")
    return [int(part) for part in parts]
