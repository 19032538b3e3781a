"""What only `truedraw train eval` takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from truedraw.cli.grouping import flag
from truedraw.cli.sampling_flags import SAMPLING

PANEL = "Measurement"
TEMPERATURES = "1,0.7,0"

Argument = Annotated[
    Path | None,
    typer.Argument(
        metavar="HEAD",
        help="A draft head, as `truedraw train draft` writes it; the one that comes with the model if not given.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class EvalFlags:
    """What only this verb has; one flag stands in for that of one temperature."""

    prompts: Annotated[
        Path | None,
        flag(
            "--prompts",
            metavar="FILE",
            help="JSON lines with prompt or turns, and category; a small set of our own if not given.",
            rich_help_panel=PANEL,
        ),
    ] = None
    limit: Annotated[int | None, flag("--limit", help="Prompts at most.", min=1, rich_help_panel=PANEL)] = None
    per_category: Annotated[
        int | None, flag("--per-category", help="Prompts of each category at most.", min=1, rich_help_panel=PANEL)
    ] = None
    repeats: Annotated[
        int,
        flag(
            "--repeats",
            help="Pairs a prompt that are timed end to end; 0 times none, and only acceptance is measured.",
            min=0,
            rich_help_panel=PANEL,
        ),
    ] = 1
    write_card: Annotated[
        Path | None,
        flag(
            "--write-card",
            metavar="FILE",
            help="Write the head again, to this file or over itself, with what was found in its card; `truedraw train "
            "show` prints it. Give prompts that it was not trained on.",
            rich_help_panel=PANEL,
        ),
    ] = None
    raw: Annotated[
        bool, flag("--raw", help="Continue prompts as they are, without a chat template.", rich_help_panel=PANEL)
    ] = False
    temperature: Annotated[
        str,
        flag("--temperature", "-t", metavar="X,X,...", help="0 takes the likeliest token.", rich_help_panel=SAMPLING),
    ] = TEMPERATURES
