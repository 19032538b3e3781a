"""A benchmark as a table for people."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Literal

from truedraw.cli.colour import wants_colour
from truedraw.sampling.values import UNKNOWN, number

COLUMNS = ("speed-up", "95 %", "tokens/s", "a round", "accepted", "same")


def print_table(found: Mapping[str, Any], color: Literal["auto", "always", "never"]) -> None:
    """A row a category, one for all, and what truedraw itself costs; to stderr."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    plain = not wants_colour(color, sys.stderr)
    console = Console(stderr=True, no_color=plain, highlight=False, markup=False, emoji=False)  # names are users'
    table = Table(title=title(found), title_justify="left", box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("prompts", overflow="fold")  # names may be long, and figures stay whole
    for name in COLUMNS:
        table.add_column(name, no_wrap=True)
    for name, section in found["by_category"].items():
        table.add_row(f"{section['prompts']} {name}", *cells(section))
    table.add_section()
    table.add_row(f"{found['prompts']} in all", *cells(found))
    console.print(table)
    console.print("\n".join(remarks(found)))


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
        f"{same['count']}/{same['of']}",
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
