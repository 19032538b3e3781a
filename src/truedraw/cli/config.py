"""--config FILE.toml: values for flags that were given neither on the command line nor in the environment."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from truedraw.errors import BadFile

Option = Any  # typer's own class for an option is not public
NOT_IN_A_FILE = ("config", "help", "version")


def from_file(context: typer.Context, path: Path | None) -> Path | None:
    """Typer callback: what the file says becomes the default of the other flags."""
    if path is not None and not context.resilient_parsing:
        group = context.parent.command if context.parent else None
        verbs = getattr(group, "commands", {})
        table = read(path)
        context.default_map = settings(
            table, str(context.info_name), {name: _flags(verbs[name]) for name in verbs}, path
        )
    return path


def read(path: Path) -> dict[str, Any]:
    """The file's table; raises BadFile."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadFile(f"--config {path} cannot be read: {error.strerror}; give a TOML file") from error
    except UnicodeDecodeError as error:
        raise BadFile(f"--config {path} is not UTF-8 (byte {error.start + 1}); save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise BadFile(f"--config {path} is not TOML: {error}") from error


def settings(
    table: Mapping[str, Any], verb: str, verbs: Mapping[str, Mapping[str, Option]], path: Path
) -> dict[str, Any]:
    """Values by parameter: those at the top are for every verb, those in [generate], [chat] or [bench] for that one.

    Dashes and underscores are the same. Every key of every table is checked; raises BadFile with the valid ones.
    """
    top = {key: value for key, value in table.items() if key not in verbs}
    chosen = _checked(top, verb, verbs[verb], path)
    for name in verbs.keys() & table.keys():
        if not isinstance(table[name], dict):
            raise BadFile(f"--config {path}: {name} is {table[name]!r}; [{name}] is a table of flags")
        own = _checked(table[name], name, verbs[name], path)
        chosen = {**chosen, **own} if name == verb else chosen
    return chosen


def _checked(table: Mapping[str, Any], verb: str, flags: Mapping[str, Option], path: Path) -> dict[str, Any]:
    values = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in flags:
            valid = ", ".join(sorted(flags))
            raise BadFile(f"--config {path}: truedraw {verb} has no flag {key!r}; valid ones are {valid}")
        if name in values:
            raise BadFile(f"--config {path}: {name} stands there twice, once with a dash; give it once")
        values[name] = _value(key, value, flags[name], path)
    return values


def _value(key: str, value: Any, option: Option, path: Path) -> Any:
    """As the command line would take it: words for words, numbers for numbers; typer checks the rest."""
    is_switch, many = bool(getattr(option, "is_flag", False)), bool(getattr(option, "multiple", False))
    items = value if many and isinstance(value, list) else [value]
    if any(isinstance(item, bool) != is_switch or not isinstance(item, bool | int | float | str) for item in items):
        allowed = "true or false" if is_switch else "a number, a text" + (" or a list of them" if many else "")
        raise BadFile(f"--config {path}: {key} is {value!r}; give {allowed}")
    return value if is_switch else [str(item) for item in items] if many else str(value)


def _flags(command: Any) -> dict[str, Option]:
    """A verb's options by parameter name; a group of verbs may have none."""
    options = [each for each in command.params if each.param_type_name == "option"]
    return {each.name: each for each in options if each.name not in NOT_IN_A_FILE}
