"""Where a value of a flag stands that nobody typed: in the environment, or in a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from truedraw.cli.config import CONFIG, typed_names
from truedraw.errors import BadFile, BadParameter, BadPrompt, PullError, UnknownModel, UnknownName, UnsupportedModel

KEYS = ("model",)  # also what speculative configs call something else
PARTS = ("engine", "spec_method", "speculative_config")
MODELS = ("model", "spec_model", "amateur", "speculative_config")
"""Flags whose values name a part of the registry, or a model."""


def place(context: Any, flag: Any) -> str:
    """As it is said behind an error about it; empty where it was typed, or is a default."""
    source = context.get_parameter_source(flag.name)
    if source is None or source.name not in ("ENVIRONMENT", "DEFAULT_MAP"):
        return ""
    return f"from {flag.envvar if source.name == 'ENVIRONMENT' else context.meta[CONFIG]}"


@contextmanager
def placed(context: typer.Context) -> Iterator[None]:
    """Inside, an error about a flag, or about the parameter of its name, notes where the value stands."""
    try:
        yield
    except BadParameter as error:
        _note(error, context, _flags(context, error.parameter))
        _note_mentioned(error, context)
        raise
    except (UnknownName, UnknownModel) as error:
        names = PARTS if isinstance(error, UnknownName) else MODELS
        naming = [flag for flag in context.command.params if flag.name in names and _is_named(error, context, flag)]
        _note(error, context, _strongest(naming, context))
        raise
    except BadPrompt as error:
        _note(error, context, [flag for flag in context.command.params if _name_in(flag, str(error))])
        raise
    except (BadFile, PullError, UnsupportedModel) as error:
        _note(error, context, [flag for flag in context.command.params if _is_told_of(error, context, flag)])
        raise


def _note(error: Exception, context: Any, flags: Sequence[Any]) -> None:
    for flag in flags:
        if where := place(context, flag):
            error.add_note(where)


def _note_mentioned(error: BadParameter, context: Any) -> None:
    """Of flags and parameters that it says its own one goes ill with."""
    own = _flags(context, error.parameter)
    for flag in context.command.params:
        name = _name_in(flag, error.reason) or (flag not in own and _parameter_in(flag, error))
        if name and (where := place(context, flag)):
            error.add_note(f"{name} {where}")


def _is_named(error: Exception, context: Any, flag: Any) -> bool:
    """Whether what the error says is unknown is the value of this flag, or stands in it."""
    value = context.params.get(flag.name)
    if flag.name != "speculative_config":
        return bool(value) and repr(value) in str(error)
    return any(repr(each) in str(error) for each in _config(value).values() if isinstance(each, str) and each)


def _is_told_of(error: Exception, context: Any, flag: Any) -> bool:
    """Whether an error about a file names this flag, or the path that is its value."""
    from truedraw.cli.grouping import may_name_a_file

    value, said = context.params.get(flag.name), str(error)
    if _name_in(flag, said):
        return True
    if not isinstance(value, Path) and not (isinstance(value, str) and may_name_a_file(flag.metavar)):
        return False
    return any(_stands_in(each, said) for each in (str(value), str(Path(value)), str(Path(value).absolute())))


def _name_in(flag: Any, said: str) -> str:
    """The name by which an error calls this flag; empty where it does not."""
    return next((name for name in getattr(flag, "opts", ()) if _stands_in(name, said)), "")


def _parameter_in(flag: Any, error: BadParameter) -> str:
    """The name by which an error about a sampling parameter says what another one does; empty where it does not."""
    from truedraw.sampling.params import SamplingParams

    both = {flag.name, error.parameter} <= {each.name for each in fields(SamplingParams)}
    says = rf"(?<![\w'\"]){flag.name} (is|takes|ends) | a {flag.name};"
    return flag.name if both and re.search(says, error.reason) else ""


def _stands_in(words: str, said: str) -> bool:
    """Whether they do, and not as a part of other words."""
    found = rf"(?<![\w./~-]){re.escape(words)}(?![\w-]|\.\w)"
    return len(words) > 1 and re.search(found, said) is not None


def _flags(context: typer.Context, parameter: str) -> list[Any]:
    """Those that may have set a parameter, by its name or their own; a key of a speculative config has one."""
    name = parameter.removeprefix("--").replace("-", "_")
    named = [flag for flag in context.command.params if name in (flag.name, *typed_names(flag))]
    return [] if parameter in KEYS else named or _speculative(context, parameter)


def _speculative(context: typer.Context, key: str) -> list[Any]:
    """The flag whose word counts for a key of the speculative config: that of the strongest place which gives it."""
    return _strongest(
        [flag for flag in context.command.params if _gives(flag.name, context.params.get(flag.name), key)], context
    )


def _strongest(flags: Sequence[Any], context: Any) -> list[Any]:
    """The first one in the place that counts before the others."""
    from truedraw.cli.grouping import ORDER

    sources = {flag: context.get_parameter_source(flag.name) for flag in flags}
    return sorted(flags, key=lambda flag: ORDER.index(getattr(sources[flag], "name", ORDER[0])))[:1]


def _gives(flag: str, value: Any, key: str) -> bool:
    """Whether a flag with this value says something of the key."""
    from truedraw.cli.speculating import SHORT, WHOLE

    if value is None:
        return False
    return key in _config(value) if "--" + flag.replace("_", "-") == WHOLE else SHORT.get(flag) == key


def _config(value: str | None) -> dict[str, Any]:
    """What a speculative config says; nothing where it is none."""
    from truedraw.cli.speculating import WHOLE, config_of

    try:
        return {} if value is None else config_of(WHOLE, value)
    except BadParameter:
        return {}
