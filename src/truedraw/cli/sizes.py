"""Numbers in a row, as in --batch-sizes 1,8,64, amounts of memory, as in --cache-bytes 512M, and times, as in 2m."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from truedraw.errors import BadParameter
from truedraw.sampling.values import shown

UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
"""Powers of two."""
SIZE = r"\s*\d{1,18}\s*"
AMOUNT = r"\s*(\d{1,18}(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*"
"""Of at most so many digits that a size is a number of 64 bits, or near it."""

TIME = r"\s*(\d{1,9}(?:\.\d+)?)\s*([smh]?)\s*"
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def sizes_of(name: str, text: str | None, least: int = 1, example: str = "1,8,64") -> list[int]:
    """Whole numbers from `least` out of "1,8,64", none out of nothing; raises BadParameter."""
    parts = text.split(",") if text else []
    if not all(re.fullmatch(SIZE, part, re.ASCII) and int(part) >= least for part in parts):
        raise BadParameter(name, f"got {shown(text)}; give whole numbers from {least}, as in {example}")
    return [int(part) for part in parts]


def batch_sizes(text: str | None, given: Mapping[str, Any]) -> list[int]:
    """Raises BadParameter, before anything is measured, for batches that cannot be drawn."""
    from truedraw.sampling.grammar import PARAMETERS
    from truedraw.sampling.ranges import SAMPLES

    flag_name, sizes = "--batch-sizes", sizes_of("--batch-sizes", text)
    for size in sizes:
        SAMPLES.check(flag_name, size)
    for name in PARAMETERS if sizes else ():
        if name in given:
            raise BadParameter(flag_name, f"every sample has --max-tokens tokens there, and {name} ends texts; "
                                          "leave one of them out")  # fmt: skip
    return sizes


def values_of(name: str, text: str | None, whole: bool = False) -> list[float] | list[int]:
    """Different numbers out of "0.3,0.7,1", none out of nothing; raises BadParameter. Ranges are checked elsewhere."""
    parts = [part.strip() for part in text.split(",")] if text is not None else []
    try:
        values = [int(part) if whole else float(part) for part in parts]
    except ValueError:
        kind, example = ("whole numbers", "10,50") if whole else ("numbers", "0.3,0.7,1")
        raise BadParameter(name, f"got {shown(text)}; give {kind} with commas between them, as in {example}") from None
    for part, value in zip(parts, values, strict=True):
        if values.count(value) > 1:
            raise BadParameter(name, f"{part} stands there twice; give it once")
    return values


def bytes_of(name: str, text: str, least: int = 1) -> int:
    """Bytes out of "2G", "512M", "512 MiB" or "1073741824"; K, M, G and T are powers of 1024.

    Raises BadParameter; 0 is an amount where `least` says so.
    """
    written = re.fullmatch(AMOUNT, text, re.ASCII | re.IGNORECASE)
    size = int(float(written[1]) * 2 ** UNITS[written[2].lower()]) if written else -1
    if size < least:
        none = "" if least else ", or 0 for none"
        raise BadParameter(name, f"got {shown(text)}; give an amount of memory, as 512M or 2G{none}")
    return size


def seconds_of(name: str, text: str) -> float:
    """Seconds out of "90", "90s", "2m" or "1.5 h"; raises BadParameter."""
    written = re.fullmatch(TIME, text, re.ASCII | re.IGNORECASE)
    seconds = float(written[1]) * SECONDS[written[2].lower()] if written else 0.0
    if seconds <= 0:
        raise BadParameter(name, f"got {shown(text)}; give a time, as 90s, 2m or 1h")
    return seconds
