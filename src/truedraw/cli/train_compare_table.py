"""What truedraw train compare found, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truedraw.cli.statistics import counted
from truedraw.cli.table import show, titled

SHORT = ".3f"


def print_tables(found: Mapping[str, Any]) -> None:
    """A table for each kind of texts and temperature; to stderr."""
    tables = []
    for section in found["sections"]:
        tables.append(titled(title(section), columns(section)))
        for loss, each in section["losses"].items():
            tables[-1].add_row(*cells(loss, each, loss == section["best"]))
    show(tables, remarks(found), "auto")


def title(section: Mapping[str, Any]) -> str:
    """What was measured."""
    return f"T = {section['temperature']:g}, {section['texts_of']}: {counted(section['texts'], 'text')}, " + (
        f"{counted(section['rows'], 'place')}; with 95 % intervals"
    )


def columns(section: Mapping[str, Any]) -> list[str]:
    """Kept by position of a chain, tokens of its rounds, and the difference of these."""
    positions = len(next(iter(section["losses"].values()))["acceptance"])
    return ["loss", *(f"position {place + 1}" for place in range(positions)), "a round", "to the best"]


def cells(loss: str, found: Mapping[str, Any], best: bool) -> list[str]:
    """One row; each number with its interval below it."""
    values = [cell(each) for each in (*found["acceptance"], found["tokens_per_round"])]
    return [loss, *values, "the best" if best else cell(found["to_the_best"]["tokens_per_round"], "+")]


def cell(found: Mapping[str, float | None], sign: str = "") -> str:
    """A mean, and its interval in a line of its own."""
    shown = [None if each is None else short(each, sign) for each in (found["mean"], found["low"], found["high"])]
    return f"{shown[0]}" if shown[1] is None else f"{shown[0]}\n{shown[1]}–{shown[2]}"


def short(value: float, sign: str) -> str:
    """Without the nought before the point: the table should fit a narrow terminal."""
    return format(value, sign + SHORT).replace("0.", ".", 1) if abs(value) < 1 else format(value, sign + SHORT)


def remarks(found: Mapping[str, Any]) -> list[str]:
    """How each was trained, and what ended early."""
    lines = [
        f"{loss}: {counted(each['steps'], 'step')} in {each['seconds']:,.0f} s, best after {each['best_step']:,}"
        + (f"; {each['stopped']}" if each["stopped"] else "")
        for loss, each in found["trainings"].items()
    ]
    return [*lines, f"written: {found['report']}"]
