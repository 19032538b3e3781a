"""The turns of a conversation, from lines to answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import typer

from truedraw.cli.chat_commands import HELP, LEAVE, RESET, SHOW_HELP
from truedraw.cli.colour import painter, write
from truedraw.cli.conversation import Conversation
from truedraw.cli.exit_codes import INTERRUPTED
from truedraw.cli.flags import OutputFlags
from truedraw.cli.showing import finished, streamed, was_interrupted
from truedraw.cli.statistics import line as statistics_line
from truedraw.cli.statistics import notices
from truedraw.errors import BadPrompt, OutOfPages, error_of
from truedraw.generate.result import Result

DROPPED = "\nstopped; this turn is forgotten"  # behind the ^C that a terminal shows


def talk(conversation: Conversation, lines: Iterable[str], output: OutputFlags, at_terminal: bool) -> None:
    """Answer line after line. A person may go on after a full context, a full cache, a turn that the template refuses
    or a ctrl-C; a script is told."""
    for line in lines:
        if line.strip() == LEAVE:
            return
        before = conversation.messages[:]
        try:
            is_stopped = _obeyed(conversation, line, output)
        except (BadPrompt, OutOfPages, KeyboardInterrupt) as error:
            if not at_terminal:
                raise
            conversation.messages = before
            typer.echo(str(error) or DROPPED, err=True)
            continue
        if is_stopped and not at_terminal:
            raise typer.Exit(INTERRUPTED)


def _obeyed(conversation: Conversation, line: str, output: OutputFlags) -> bool:
    """Whether ctrl-C stopped the answer; a command and an empty line have none."""
    if not line.strip() or _is_command(conversation, line.strip()):
        return False
    return was_interrupted(turn(conversation, line, output))


def turn(conversation: Conversation, question: str, output: OutputFlags) -> Result:
    """One question and its answer, remembered and printed."""
    run = conversation.ask(question)
    result = finished(run) if output.json else streamed(run, painter(output.color, sys.stdout))
    conversation.remember(question, result)
    error = {} if run.error is None else {"error": error_of(run.error)}
    write(json.dumps(result.to_dict() | error, allow_nan=False) + "\n" if output.json else "\n")
    if output.stats:
        typer.echo("\n".join([statistics_line(result.stats), *notices(result)]), err=True)
    if run.error is not None:
        raise run.error
    if conversation.is_full(result):
        typer.echo("the model's context is full; /reset starts anew", err=True)
    return result


def _is_command(conversation: Conversation, word: str) -> bool:
    """Obey /reset and /help; a lone word that looks like a command is one that does not exist."""
    if not word.startswith("/") or len(word.split()) > 1:
        return False
    if word == RESET:
        conversation.reset()
        typer.echo("a new conversation", err=True)
    else:
        typer.echo(HELP if word == SHOW_HELP else f"no command is called {word}: {HELP}", err=True)
    return True
