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
        name = error.parameter.removeprefix("--").replace("-", "_")
        for flag in context.command.params if error.parameter not in KEYS else ():
            if name in (flag.name, *typed_names(flag)) and (where := place(context, flag)):
                error.add_note(where)
        raise
