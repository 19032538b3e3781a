"""What is told beside a result."""

from __future__ import annotations

import typer

LINE_BREAK = "\N{SYMBOL FOR NEWLINE}"


def notice(said: str) -> None:
    """One line on stderr, whatever names stand in it."""
    typer.echo(f"truedraw: notice: {said}".replace("\n", LINE_BREAK), err=True)
