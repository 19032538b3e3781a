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
    """Those that may have set a parameter, by its name or their own."""
    name = parameter.removeprefix("--").replace("-", "_")
    named = [flag for flag in context.command.params if name in (flag.name, *typed_names(flag))]
    return [] if parameter in KEYS else named
