"""The kernel benchmark as a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from truedraw.cli.table import show, titled
from truedraw.sampling.values import UNKNOWN

OTHERS = ("numpy",), ("torch", "torch alone")  # of each the fastest
ROUND = 9.95  # from here on without decimals
COLUMNS = ("µs a row", "passes", "numpy (95 %)", "torch (95 %)")


def print_kernels(found: Mapping[str, Any], color: Literal["auto", "always", "never"]) -> None:
    """A row a case and how far the goals are met; to stderr."""
    threads = found["threads"]
    title = f"fused kernels, {threads} thread{'s' * (threads > 1)}, and how many times longer others take"
    table = titled(title, COLUMNS, "work")
    for shape in dict.fromkeys(map(shape_of, found["cases"])):
        table.add_section()
        table.add_row(shape)
        for case in found["cases"]:
            if shape_of(case) == shape:
                table.add_row(case["work"], *cells(case))
    show([table], remarks(found), color)


def shape_of(case: Mapping[str, Any]) -> str:
    """The rows of a case."""
    return f"{case['rows']} x {case['vocab_size']}"


def cells(case: Mapping[str, Any]) -> list[str]:
    """One case."""
    own, passes = case["microseconds_per_row"]["kernel"]["median"], case["passes"]["median"]
    return [f"{own:.1f}", f"{passes:.1f}", *(gain(least(case["speedup_over"], names)) for names in OTHERS)]


def least(ratios: Mapping[str, Mapping[str, float | None]], names: Sequence[str]) -> Mapping[str, float | None] | None:
    """Of those of some names, that of who is the fastest; None where nobody is there."""
    found = [ratios[name] for name in names if name in ratios]
    return min(found, key=lambda ratio: ratio["median"] or 0.0, default=None)


def gain(ratio: Mapping[str, float | None] | None) -> str:
    """A ratio and its interval."""
    if ratio is None:
        return UNKNOWN
    ends = "" if ratio["low"] is None else f" ({times(ratio['low'])}–{times(ratio['high'])})"
    return f"{times(ratio['median'])}{ends}"


def times(ratio: float | None) -> str:
    """A ratio in few characters, so that the table fits 80 columns."""
    if ratio is None:
        return UNKNOWN
    return f"{ratio:.1f}" if ratio < ROUND else f"{ratio:.0f}"


def remarks(found: Mapping[str, Any]) -> list[str]:
    """The goals, and who was not there."""
    gains, passes = found["goals"]["speedup_over_numpy"], found["goals"]["passes_of_temperature_alone"]
    alone = found["goals"]["passes_of_temperature_alone_on_one_thread"]
    return [
        f"over numpy step by step: {gains['least']:.1f} to {gains['most']:.1f} times; goal {gains['goal']:g}",
        f"the token alone, by temperature, in passes over the row: {passes['least']:.1f} to {passes['most']:.1f}, "
        f"goal {passes['goal']:g}",
        f"the same on one thread: {alone['least']:.1f} to {alone['most']:.1f}",
        f"torch: {found['torch']}",
    ]
