"""What only `truedraw train eval` takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from truedraw.cli.grouping import flag
from truedraw.cli.prompt_flags import PANEL, PromptFlags
from truedraw.cli.sampling_flags import SAMPLING

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
class EvalFlags(PromptFlags):
    """What only this verb has; one flag stands in for that of one temperature."""

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
            writes_over=("--draft",),
            help="Write the head again, to this file or over itself, with what was found in its card; `truedraw train "
            "show` prints it. Give prompts that it was not trained on.",
            rich_help_panel=PANEL,
        ),
    ] = None
    temperature: Annotated[
        str,
        flag("--temperature", "-t", metavar="X,X,...", help="0 takes the likeliest token.", rich_help_panel=SAMPLING),
    ] = TEMPERATURES
