"""truedraw chat: a conversation."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import typer

from truedraw.cli.chat_commands import HELP
from truedraw.cli.cursor import restore_when_ended
from truedraw.cli.flags import OutputFlags, SpeculationFlags
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.sampling_flags import SamplingFlags

EPILOG = """Examples:

truedraw chat --system "You answer in one sentence."

printf 'My name is Ada.\\nWhat is my name?\\n' | truedraw chat --json
"""


@dataclass(frozen=True, slots=True)
class ChatFlags:
    """What only this verb has."""

    system: Annotated[str | None, flag("--system", help="System prompt.")] = None


@with_flags
def chat(
    own: ChatFlags, model: ModelFlags, sampling: SamplingFlags, spec: SpeculationFlags, output: OutputFlags
) -> None:
    """Talk with an instruct model.

    ctrl-C stops an answer and keeps what was said of it; before the answer begins, or behind it, it drops the turn.
    /help lists the commands. From a pipe, every line is one turn, and ctrl-C ends the conversation, as does a turn too
    long for the model; what is pasted into a terminal is one turn. An answer may fill the model's context unless
    --max-tokens is given; --json prints one object a turn.
    """
    from truedraw.cli.conversation import Conversation
    from truedraw.cli.options import opened
    from truedraw.cli.speculating import speculation_of
    from truedraw.cli.stdin import given_text, lines
    from truedraw.cli.turns import talk
    from truedraw.sampling.params import sampling_params

    sampling_params(sampling.given())  # what is wrong should be said before the model is loaded
    system = own.system and given_text(own.system, "--system")
    if not output.json:
        sampling.refuse_logprobs("are told with --json only; give that, too")
    speculation, at_terminal = speculation_of(spec, model.amateur), sys.stdin.isatty() and sys.stdout.isatty()
    with opened(model, configs=[speculation]) as loaded:
        conversation = Conversation(loaded, sampling.given(), speculation, system)
        if at_terminal:
            typer.echo(f"{loaded.name}: {HELP}", err=True)
        talk(conversation, typed() if at_terminal else lines(), output, at_terminal)


def typed() -> Iterator[str]:
    """Lines from a terminal, with editing where Python has readline; what a locale of ASCII cannot say is UTF-8."""
    restore_when_ended(sys.stdin)
    with suppress(ImportError):
        import readline  # importing it gives input() its editing and history

        if os.environ.get("TERM") != "dumb":  # which would show the codes for it
            # pasted lines are one turn; Python switches it off
            readline.parse_and_bind("set enable-bracketed-paste on")
    while True:
        try:
            yield input("> ").encode(errors="surrogateescape").decode()
        except EOFError:
            typer.echo()
            return
        except KeyboardInterrupt:
            typer.echo(f"\n{HELP}", err=True)
        except UnicodeError:
            typer.echo("that was not UTF-8; set the terminal to UTF-8", err=True)
