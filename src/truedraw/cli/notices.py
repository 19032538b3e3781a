"""What is told beside a result."""

from __future__ import annotations

import typer


def notice(said: str) -> None:
    """One line on stderr."""
    typer.echo(f"truedraw: notice: {said}", err=True)
