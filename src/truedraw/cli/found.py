"""What a measurement found, at its end: lines for people on stderr, one JSON object on stdout."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from truedraw.cli.flags import ReportFlags


def print_found(found: Mapping[str, Any], lines: Sequence[str], output: ReportFlags) -> None:
    """The lines only where statistics are wanted, and not beside --json."""
    if output.stats and not output.json:
        typer.echo("\n".join(lines), err=True)
    typer.echo(json.dumps(found, allow_nan=False))
