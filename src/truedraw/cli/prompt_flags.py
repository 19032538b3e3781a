"""Which prompts a verb measures on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from truedraw.cli.grouping import flag

PANEL = "Measurement"
MAX_TOKENS = 128  # unless told otherwise: long enough for drafts to repeat something, short enough for many prompts
SEED = 0  # likewise


@dataclass(frozen=True, slots=True)
class PromptFlags:
    """What bench, tune and train eval have in common, each with flags of its own behind."""

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
    raw: Annotated[
        bool, flag("--raw", help="Continue prompts as they are, without a chat template.", rich_help_panel=PANEL)
    ] = False
