"""Numbers in a row, as in --batch-sizes 1,8,64, and amounts of memory, as in --cache-bytes 512M."""

from __future__ import annotations

import re

from truedraw.errors import BadParameter

UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
"""Powers of two."""


def sizes_of(name: str, text: str | None) -> list[int]:
    """Whole numbers from 1 out of "1,8,64", none out of nothing; raises BadParameter."""
    parts = text.split(",") if text else []
    if not all(part.strip().isascii() and part.strip().isdigit() and int(part) > 0 for part in parts):
        raise BadParameter(name, f"got {text!r}; give whole numbers from 1, as in 1,8,64")
    return [int(part) for part in parts]


def values_of(name: str, text: str | None, whole: bool = False) -> list[float] | list[int]:
    """Different numbers out of "0.3,0.7,1", none out of nothing; raises BadParameter. Ranges are checked elsewhere."""
    parts = [part.strip() for part in text.split(",")] if text is not None else []
    try:
        values = [int(part) if whole else float(part) for part in parts]
    except ValueError:
        kind, example = ("whole numbers", "10,50") if whole else ("numbers", "0.3,0.7,1")
        raise BadParameter(name, f"got {text!r}; give {kind} with commas between them, as in {example}") from None
    for part, value in zip(parts, values, strict=True):
        if values.count(value) > 1:
            raise BadParameter(name, f"{part} stands there twice; give it once")
    return values


def bytes_of(name: str, text: str) -> int:
    """Bytes out of "2G", "512M", "512 MiB" or "1073741824"; K, M, G and T are powers of 1024. Raises BadParameter."""
    written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", text, re.ASCII | re.IGNORECASE)
    size = int(float(written[1]) * 2 ** UNITS[written[2].lower()]) if written else 0
    if size < 1:
        raise BadParameter(name, f"got {text!r}; give an amount of memory, as 512M or 2G")
    return size
