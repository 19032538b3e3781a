"""Whether what was read of JSON is what a training writes."""

from __future__ import annotations

from collections.abc import Mapping
from sys import float_info
from typing import Any

LARGEST, LARGEST_WHOLE = float_info.max, (1 << 63) - 1


def is_whole(value: object, least: int = 0) -> bool:
    """A whole number that an array can hold, from `least` on."""
    return type(value) is int and least <= value <= LARGEST_WHOLE


def is_number(value: object, least: float = 0.0) -> bool:
    """A finite number from `least` on."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= LARGEST


def are_whole(value: object) -> bool:
    """A list of whole numbers, and not of none."""
    return isinstance(value, list) and bool(value) and all(map(is_whole, value))


def are_numbers(value: object) -> bool:
    """A list of finite numbers, and not of none."""
    return isinstance(value, list) and bool(value) and all(map(is_number, value))


def is_temperature(line: Mapping[str, Any]) -> bool:
    """Whether a line says at which temperature its text was drawn, or by None that it was not."""
    return "temperature" in line and (line["temperature"] is None or is_number(line["temperature"]))
