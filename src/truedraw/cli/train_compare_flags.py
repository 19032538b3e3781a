"""The flags of truedraw train compare that truedraw train draft does not have in this form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

from truedraw.cli.flags import OUTPUT
from truedraw.cli.grouping import flag
from truedraw.cli.train_flags import LossName, Overwrite
from truedraw.cli.train_outputs import worked_on

LOSSES, LIMITS, TEXT = "Losses", "Limits", "Text"
ALL = ",".join(get_args(LossName))


@dataclass(frozen=True, slots=True)
class CompareFlags:
    """What is compared, with what, and for how long; the flag of several losses stands in for that of one."""

    loss: Annotated[
        str,
        flag("--losses", metavar="NAME,NAME,...", help="Compared with one another; one alone is only measured.",
             rich_help_panel=LOSSES),
    ] = ALL  # fmt: skip
    test_prompts: Annotated[
        Path | None,
        flag(
            "--test-prompts",
            metavar="FILE",
            help="JSON lines with prompt or turns: measure on the model's answers to these, too, and train on none.",
            rich_help_panel=TEXT,
        ),
    ] = None
    limit: Annotated[int | None, flag("--limit", help="Of the test prompts at most.", min=1, rich_help_panel=TEXT)] = (
        None
    )
    per_category: Annotated[
        int | None, flag("--per-category", help="Test prompts of each category at most.", min=1, rich_help_panel=TEXT)
    ] = None
    budget: Annotated[
        str | None,
        flag(
            "--budget",
            metavar="TIME",
            help="Of all stages and losses together, as 2h; losses take turns and have the same share. 60m unless "
            "--tokens and --steps say when to end; with --steps of texts and features alone.",
            rich_help_panel=LIMITS,
        ),
    ] = None
    steps: Annotated[
        int | None, flag("--steps", help="Steps of training for each loss.", min=1, rich_help_panel=LIMITS)
    ] = None
    feature_bytes: Annotated[
        str,
        flag("--feature-bytes", metavar="SIZE", help="Disk for what the model knows at each token, as 512M or 4G.",
             rich_help_panel=LIMITS),
    ] = "4G"  # fmt: skip
    output: Annotated[
        Path,
        flag("--output", "-o", metavar="FILE", help="The report, HTML.", writes_over=(), rich_help_panel=OUTPUT),
    ] = Path("losses.html")
    work: Annotated[
        Path | None,
        flag(
            "--work",
            metavar="DIR",
            writes_over=(),
            beside=worked_on,
            help="Where texts, features and results lie, from which the same command goes on; beside --output if not "
            "given. That of a `truedraw train draft` of the same text is welcome: its texts and features are used.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    overwrite: Overwrite = False
