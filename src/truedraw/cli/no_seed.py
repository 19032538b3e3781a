"""Measurements with a seed and without one: what --seed and --no-seed make of one another."""

from __future__ import annotations

from typing import Annotated

import typer

from truedraw.cli.grouping import ORDER, flag
from truedraw.cli.prompt_flags import PANEL
from truedraw.errors import BadParameter

NoSeed = Annotated[
    bool,
    flag(
        "--no-seed",
        help="Draw anew in every run, as generate without --seed, though the environment or a file gives one.",
        rich_help_panel=PANEL,
    ),
]


def seed_of(context: typer.Context, seed: int | None, otherwise: int | None = None) -> int | None:
    """What counts of --seed and --no-seed, `otherwise` where neither is given; raises BadParameter where both are given
    in one place."""
    if not context.params["no_seed"]:
        return otherwise if seed is None else seed
    if seed is None:
        return None
    theirs, mine = (place_of(context, name) for name in ("seed", "no_seed"))
    if theirs == mine:
        raise BadParameter("--no-seed", f"contradicts --seed {seed}, given beside it; leave one of the two out")
    return seed if theirs < mine else None


def place_of(context: typer.Context, name: str) -> int:
    """Where a flag was given, what counts first before the others."""
    source = context.get_parameter_source(name)
    return ORDER.index(source.name) if source is not None and source.name in ORDER else len(ORDER)
