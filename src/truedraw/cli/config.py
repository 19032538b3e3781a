"""--config FILE.toml: values for flags that were given neither on the command line nor in the environment."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import typer

from truedraw.errors import BadFile, did_you_mean
from truedraw.input_files import opened, readable

Option = Any  # typer's own class for an option is not public
Words = tuple[str, ...]
"""What is typed for a verb behind `truedraw`: ("bench", "many")."""
HINT = "give a TOML file"
CONFIG = "truedraw.config"  # in what a context carries: how the file was given
NOT_IN_A_FILE = ("config", "help", "version")


class Verb(NamedTuple):
    """Its options by the names of their flags, and the verbs of a group by name."""

    flags: Mapping[str, Option]
    verbs: Mapping[str, Verb]


def from_file(context: typer.Context, path: Path | None) -> Path | None:
    """Typer callback: what the file says becomes the default of the other flags."""
    if path is not None and not context.resilient_parsing:
        from truedraw.cli.places import placed

        context.meta[CONFIG] = f"--config {path}"
        with placed(context):
            context.default_map = settings(read(path), _words(context), _verb(context.find_root().command), path)
    return path


def read(path: Path) -> dict[str, Any]:
    """The file's table; raises BadFile."""
    named = f"--config {path}"
    try:
        with opened(path, named, HINT) as file, readable(named, HINT):
            return tomllib.loads(file.read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadFile(f"{named} is not UTF-8 (byte {error.start + 1}); save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise BadFile(f"{named} is not TOML: {error}") from error
    except RecursionError as error:
        raise BadFile(f"{named} is not TOML: it is nested too deeply") from error


def settings(table: Mapping[str, Any], words: Words, whole: Verb, path: Path) -> dict[str, Any]:
    """Values by parameter: those at the top are for every verb, those in [generate] or [bench.many] for that one.

    Dashes and underscores are the same. Every key of every table is checked; raises BadFile with the valid ones.
    """
    verb = whole
    for word in words:
        verb = verb.verbs[word]
    tables = dict(_tables(table, (), whole._replace(flags=verb.flags), path))
    top = {key: value for key, value in table.items() if key not in whole.verbs}
    return {**_checked(top, words, verb.flags, path), **tables.get(words, {})}


def _tables(table: Mapping[str, Any], words: Words, verb: Verb, path: Path) -> Iterator[tuple[Words, dict[str, Any]]]:
    """The values of each table that belongs to a verb of this one, or to one below that."""
    _check_tables(table, words, verb, path)
    for name in [key for key in table if key in verb.verbs]:
        given, inner, its_words = table[name], verb.verbs[name], (*words, name)
        if not isinstance(given, dict):
            dotted = ".".join(its_words)
            owner = next((verb_name for verb_name, each in verb.verbs.items() if name in each.flags), None)
            hint = "" if owner is None else f", and the flag --{name} stands in the table of its verb, as in [{owner}]"
            raise BadFile(f"--config {path}: {dotted} is {given!r}; [{dotted}] is a table of flags{hint}")
        yield from _tables(given, its_words, inner, path)
        own = {key: value for key, value in given.items() if key not in inner.verbs}
        yield its_words, _checked(own, its_words, inner.flags, path)


def _check_tables(table: Mapping[str, Any], words: Words, verb: Verb, path: Path) -> None:
    """Raises BadFile for one that is called like no verb, unless a flag is, whose value it cannot be."""
    for name, given in table.items():
        if isinstance(given, dict) and name not in verb.verbs and name.replace("-", "_") not in verb.flags:
            raise _unknown("verb", name, words, verb.verbs, path)


def _checked(table: Mapping[str, Any], words: Words, flags: Mapping[str, Option], path: Path) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in flags:
            raise _unknown("flag", key, words, flags, path)
        option = flags[name]
        if option.name in values:
            raise BadFile(f"--config {path}: {name} stands there twice, with a dash or by another name; give it once")
        given = _value(key, value, option, path)
        values[option.name] = not given if name in _names(option.secondary_opts) else given
    return values


def _unknown(what: str, name: str, words: Words, known: Iterable[str], path: Path) -> BadFile:
    hint, valid = did_you_mean(name.replace("-", "_"), known), ", ".join(sorted(known)) or "none"
    return BadFile(
        f"--config {path}: {' '.join(['truedraw', *words])} has no {what} {name!r}{hint}; valid ones are {valid}"
    )


def _value(key: str, value: Any, option: Option, path: Path) -> Any:
    """As the command line would take it: words for words, numbers for numbers; typer checks the rest."""
    is_switch, many = bool(getattr(option, "is_flag", False)), bool(getattr(option, "multiple", False))
    several = many or "," in (getattr(option, "metavar", None) or "")  # as in 0.5,1
    items = value if several and isinstance(value, list) else [value]
    if any(isinstance(item, bool) != is_switch or not isinstance(item, bool | int | float | str) for item in items):
        allowed = "true or false" if is_switch else "a number, a text" + (" or a list of them" if several else "")
        raise BadFile(f"--config {path}: {key} is {value!r}; give {allowed}")
    words = [str(item) for item in items]
    return value if is_switch else words if many else ",".join(words)


def _words(context: Any) -> Words:
    return () if context.parent is None else (*_words(context.parent), context.info_name)


def _verb(command: Any) -> Verb:
    """A verb, or a group of them, which may have no flags."""
    options = [each for each in command.params if each.param_type_name == "option"]
    flags = {name: each for each in options if each.name not in NOT_IN_A_FILE for name in _file_names(each)}
    return Verb(flags, {name: _verb(inner) for name, inner in getattr(command, "commands", {}).items()})


def typed_names(option: Option) -> list[str]:
    """As it is typed, without the dashes: a parameter of Python may be called otherwise."""
    return _names(option.opts)


def _file_names(option: Option) -> list[str]:
    """Those, and what switches it off, as no_stats."""
    return _names([*option.opts, *option.secondary_opts])


def _names(typed: Iterable[str]) -> list[str]:
    return [each[2:].replace("-", "_") for each in typed if each.startswith("--")]
