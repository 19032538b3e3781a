"""The flags that verbs share. None everywhere means: not given, the model's own or our default applies."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from truedraw.cli.config import from_file
from truedraw.cli.grouping import ORDER, Sources, flag
from truedraw.cli.sampling_flags import SAMPLING
from truedraw.errors import BadParameter

SPECULATION, OUTPUT = "Speculation", "Output"


@dataclass(frozen=True, slots=True)
class CountFlags:
    """How many samples of a prompt."""

    n: Annotated[
        int | None, flag("--n", "-n", help="Samples of the prompt, computed together.", rich_help_panel=SAMPLING)
    ] = None

    best_of: Annotated[
        int | None,
        flag("--best-of", help="Draw so many and keep the --n likeliest a token.", rich_help_panel=SAMPLING),
    ] = None

    def given(self) -> dict[str, Any]:
        """As SamplingFlags.given."""
        values = {"n": self.n, "best_of": self.best_of}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class AskingFlags:
    """Whether prompts are continued, or asked as questions."""

    chat: Annotated[bool, flag("--chat", help="Put prompts into the model's chat template, as a user's question.")] = (
        False
    )
    system: Annotated[str | None, flag("--system", help="System prompt before the question of --chat.")] = None
    sources: Sources = field(default_factory=lambda: Sources({}))

    @property
    def system_prompt(self) -> str | None:
        """None without questions; raises BadParameter where one was typed then: that of another place is for chat."""
        from truedraw.cli.stdin import given_text

        if self.system is None or self.chat:
            return self.system and given_text(self.system, "--system")
        if self.sources.get("system", ORDER[0]) == ORDER[0]:
            raise BadParameter("--system", "stands before a question; give --chat, too")
        return None

    def settings(self) -> dict[str, Any]:
        """Of a run that goes on; earlier files without a system prompt do, too."""
        system = self.system_prompt
        return {"chat": self.chat, **({} if system is None else {"system": system})}


@dataclass(frozen=True, slots=True)
class SpeculationFlags:
    """What to speculate with."""

    spec_method: Annotated[
        str | None,
        flag(
            "--spec-method",
            help="Who drafts: a drafter's name, as ngram; none is plain sampling.",
            rich_help_panel=SPECULATION,
        ),
    ] = None
    spec_model: Annotated[
        str | None,
        flag(
            "--spec-model",
            metavar="MODEL",
            help="A smaller model with the same tokenizer drafts: name, file or folder as for --model.",
            rich_help_panel=SPECULATION,
        ),
    ] = None
    spec_tokens: Annotated[
        int | None,
        flag(
            "--spec-tokens",
            help="Draft tokens a round at most; 7 if not given, or the drafter's own number.",
            rich_help_panel=SPECULATION,
        ),
    ] = None
    speculative_config: Annotated[
        str | None,
        flag(
            "--speculative-config",
            metavar="JSON",
            help='Everything at once, as in vLLM: {"method": "ngram", "num_speculative_tokens": 5}.',
            rich_help_panel=SPECULATION,
        ),
    ] = None
    sources: Sources = field(default_factory=lambda: Sources({}))


Prompt = Annotated[
    str | None,
    typer.Argument(metavar="PROMPT", help="The text to continue; - reads it from stdin.", show_default=False),
]
Explain = Annotated[
    bool,
    flag(
        "--explain",
        help="Say why so much was drafted, by whom, and what that was expected to bring.",
        rich_help_panel=SPECULATION,
    ),
]
Json = Annotated[bool, flag("--json", help="One JSON object on stdout.", rich_help_panel=OUTPUT)]
Stats = Annotated[bool, flag("--stats/--no-stats", help="Statistics on stderr.", rich_help_panel=OUTPUT)]
Config = Annotated[
    Path | None,
    flag(
        "--config",
        help="TOML file with values for flags.",
        metavar="FILE",
        callback=from_file,
        is_eager=True,
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True, slots=True)
class OutputFlags:
    """What is printed, and how."""

    json: Json = False
    color: Annotated[
        Literal["auto", "always", "never"],
        flag("--color", help="Tokens coloured by origin; auto: on a terminal.", rich_help_panel=OUTPUT),
    ] = "auto"
    stats: Stats = True
    config: Config = None


@dataclass(frozen=True, slots=True)
class ReportFlags:
    """The same, of a verb that has no colours."""

    json: Json = False
    stats: Stats = True
    config: Config = None
