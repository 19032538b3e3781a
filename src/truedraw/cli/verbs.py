"""The verbs by name: each is imported, and made a command, when it is first asked for.

A start pays for the one verb that was typed; only the page of help needs all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import typer

from truedraw.errors import BadParameter

NAMES = ("generate", "chat", "sweep", "tune", "check", "bench", "train", "models", "index", "ngrams")
MARKUP: Final = "markdown"
STRIPPED = "What the verbs do is not told here: Python was started with -OO, which leaves such texts out."
CONFIG = "--config"
LISTS_OF_TEXTS = ("stop", "bad_words", "candidate", "documents", "schedule")  # which may hold blanks


class Verbs(Mapping[str, Any]):
    """Commands of typer by name, in the order of the help."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = dict.fromkeys(NAMES)

    def __getitem__(self, name: str) -> Any:
        """Raises KeyError for what is no verb."""
        if self._made[name] is None:
            self._made[name] = _command(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


class Program(typer.core.TyperGroup):
    """The command above them all."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = Verbs()
        _tell_of_stripping(self)


def _command(name: str) -> Any:
    """Of the module of that name: its `app`, where it has verbs of its own, or the function that is named so."""
    module = import_module(f"truedraw.cli.{name}")
    app = typer.Typer(add_completion=False, rich_markup_mode=MARKUP, pretty_exceptions_enable=False)
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name)
        return _prepared(typer.main.get_group(app).commands[name])
    app.command(epilog=module.EPILOG)(getattr(module, name))
    return _prepared(typer.main.get_command(app))


def _parsed(parse: Callable[[Any, list[str]], list[str]], context: Any, args: list[str]) -> list[str]:
    """Raises BadParameter for a second --config, where typer would forget the first."""
    if sum(each.partition("=")[0] == CONFIG for each in args) > 1 and _times(CONFIG, context, args) > 1:
        raise BadParameter(CONFIG, "given more than once, and one file is read; put all values into one")
    return parse(context, args)


def _times(flag: str, context: Any, args: list[str]) -> int:
    """How often it was typed, other than as the value of another one."""
    _, _, order = context.command.make_parser(context).parse_args([*args])
    return sum(flag in option.opts for option in order)


def _prepared(command: Any) -> Any:
    """The command, and those below it: lists of texts in the environment are taken a line each, no path is
    empty, and there is one --config."""
    command.parse_args = partial(_parsed, command.parse_args)
    _tell_of_stripping(command)
    for option in command.params:
        if option.name in LISTS_OF_TEXTS:
            option.value_from_envvar = partial(_lines, option)
        if _is_path(option):
            option.process_value = partial(_path, option.process_value, option)
    for below in getattr(command, "commands", {}).values():
        _prepared(below)
    return command


def _is_path(option: Any) -> bool:
    """Whether its values are paths, as typer has it from 0.29 on, and before."""
    described = getattr(option, "type_descriptor", None)
    if described is not None:
        return described.annotation in (Path, list[Path])
    return getattr(option.type, "name", "") in {"path", "file", "directory"}


def _path(process: Callable[[Any, Any], Any], option: Any, context: Any, value: Any) -> Any:
    """Raises typer's BadParameter for one of no characters, which would name the working folder."""
    if value == "" or (isinstance(value, list | tuple) and "" in value):
        raise typer.BadParameter("got ''; give a path, or leave it out", ctx=context, param=option)
    return process(context, value)


def _tell_of_stripping(command: Any) -> None:
    """Below its help, whose texts are docstrings."""
    if sys.flags.optimize > 1:
        command.epilog = "\n\n".join(filter(None, (STRIPPED, command.epilog)))


def _lines(option: Any, context: Any) -> list[str] | None:
    """Cut at line breaks alone: typer cuts paths at colons, and what else ends a line in Unicode may be meant."""
    text = option.resolve_envvar_value(context)
    return None if text is None else text.replace("\r\n", "\n").removesuffix("\n").split("\n")
