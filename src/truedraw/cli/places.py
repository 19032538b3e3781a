"""Where a value of a flag stands that nobody typed: in the environment, or in a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from truedraw.cli.config import CONFIG, typed_names
from truedraw.errors import BadParameter

KEYS = ("model",)  # also what speculative configs call something else


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
        for flag in _flags(context, error.parameter):
            if where := place(context, flag):
                error.add_note(where)
        raise


def _flags(context: typer.Context, parameter: str) -> list[Any]:
    """Those that may have set a parameter, by its name or their own; a key of a speculative config has one."""
    name = parameter.removeprefix("--").replace("-", "_")
    named = [flag for flag in context.command.params if name in (flag.name, *typed_names(flag))]
    return [] if parameter in KEYS else named or _speculative(context, parameter)


def _speculative(context: typer.Context, key: str) -> list[Any]:
    """The flag whose word counts for a key of the speculative config: that of the strongest place which gives it."""
    from truedraw.cli.grouping import ORDER

    flags = [flag for flag in context.command.params if _gives(flag.name, context.params.get(flag.name), key)]
    sources = {flag: context.get_parameter_source(flag.name) for flag in flags}
    return sorted(flags, key=lambda flag: ORDER.index(getattr(sources[flag], "name", ORDER[0])))[:1]


def _gives(flag: str, value: Any, key: str) -> bool:
    """Whether a flag with this value says something of the key."""
    from truedraw.cli.speculating import SHORT, WHOLE, config_of

    if value is None:
        return False
    if "--" + flag.replace("_", "-") != WHOLE:
        return SHORT.get(flag) == key
    try:
        return key in config_of(WHOLE, value)
    except BadParameter:
        return False
