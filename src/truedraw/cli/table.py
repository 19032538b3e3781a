"""A benchmark as a table for people, and how all such tables are set."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from truedraw.cli.colour import wants_colour
from truedraw.sampling.values import UNKNOWN, number

COLUMNS = ("speed-up", "95 %", "tokens/s", "a round", "accepted", "same")


def print_table(found: Mapping[str, Any], color: Literal["auto", "always", "never"]) -> None:
    """A row a category, one for all, and what truedraw itself costs; to stderr."""
    table = titled(title(found), COLUMNS, "prompts")
    for name, section in found["by_category"].items():
        table.add_row(f"{section['prompts']} {name}", *cells(section))
    table.add_section()
    table.add_row(f"{found['prompts']} in all", *cells(found))
    show([table], remarks(found), color)


def titled(title: str, columns: Sequence[str], first: str | None = None) -> Any:
    """A table of rich without rows; names in its `first` column may be long, and figures stay whole."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    if first is not None:
        table.add_column(first, overflow="fold")
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table


def show(tables: Sequence[Any], lines: Sequence[str], color: Literal["auto", "always", "never"]) -> None:
    """Tables and the lines below them; to stderr."""
    from rich.console import Console

    plain = not wants_colour(color, sys.stderr)
    console = Console(stderr=True, no_color=plain, highlight=False, markup=False, emoji=False)  # names are users'
    for table in tables:
        console.print(table)
    console.print("\n".join(lines))


def title(found: Mapping[str, Any]) -> str:
    """What was compared with what."""
    return f"{found['model']}: {found['speculation']['method']} against plain sampling"


def cells(section: Mapping[str, Any]) -> list[str]:
    """One row."""
    speedup, same = section["speedup"], section["identical_texts"]
    plain, speculative = (number(section[name], ".1f") for name in ("plain_tokens_per_second", "tokens_per_second"))
    return [
        f"{speedup['median']:.3f}",
        UNKNOWN if speedup["low"] is None else f"{speedup['low']:.3f}–{speedup['high']:.3f}",
        f"{plain} → {speculative}",
        number(section["tokens_per_round"], ".2f"),
        number(section["acceptance_rate"], ".0%"),
        UNKNOWN if same is None else f"{same['count']}/{same['of']}",
    ]


def remarks(found: Mapping[str, Any]) -> list[str]:
    """What truedraw itself costs, and what batches gain."""
    plain, speculative = (number(found[f"overhead_fraction{arm}"], ".1%") for arm in ("", "_speculative"))
    return [
        f"besides engine and drafter, of the engine's time: {plain} plain, {speculative} speculative",
        *(
            f"{speed['n']} at once: {speed['tokens_per_second']:.1f} tokens/s, {speed['relative']:.2f} times one"
            for speed in found["batch"]
        ),
    ]
