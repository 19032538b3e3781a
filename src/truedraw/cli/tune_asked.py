"""What was asked of a tuning, as far as it takes more than one flag to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from truedraw.cli.grouping import ORDER
from truedraw.errors import BadParameter

TRY = "--try"


def seed_of(context: typer.Context, seed: int | None) -> int | None:
    """What --seed and --no-seed make of one another; raises BadParameter where both are given in one place."""
    if seed is None or not context.params["no_seed"]:
        return seed
    theirs, mine = (place_of(context, name) for name in ("seed", "no_seed"))
    if theirs == mine:
        raise BadParameter("--no-seed", f"contradicts --seed {seed}, given beside it; leave one of the two out")
    return seed if theirs < mine else None


def place_of(context: typer.Context, name: str) -> int:
    """Where a flag was given, what counts first before the others."""
    source = context.get_parameter_source(name)
    return ORDER.index(source.name) if source is not None and source.name in ORDER else len(ORDER)


def further_configs(texts: Sequence[str]) -> list[Mapping[str, Any]]:
    """What was asked for besides; raises BadParameter and UnknownName."""
    from truedraw.cli.speculating import config_of
    from truedraw.generate.speculation import OFF, speculation

    further: list[Mapping[str, Any]] = [config_of(TRY, text) for text in texts]
    for config in further:
        if speculation(config or None).method == OFF:
            raise BadParameter(TRY, "plain sampling is measured in any case; leave it out")
    return further
