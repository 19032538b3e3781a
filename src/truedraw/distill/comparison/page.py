"""A comparison as one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from truedraw.distill.report import plotted, point
from truedraw.page.document import document

PLOTTED = (1, 3)  # positions
TITLE = "Losses for a draft head of "  # and its name
EXPLAINED = (
    "Every loss had the same texts, features and first weights, and as many steps or as much time as the others. "
    "Acceptance is the mean chance that a draft at this position of a chain is kept, behind the text's own tokens; "
    "tokens a round are those of such a chain, the model's own token counted, as a mean over places. In brackets: "
    "95 % bootstrap intervals, texts being drawn again and not places. The difference to the best is taken text by "
    "text, so that its interval is narrower than those of the two; the best is the one that did best on these texts."
)


def to_html(found: Mapping[str, Any], looks: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The page; `found` is what the command prints as JSON, `looks` are those of each loss's training."""
    title = f"{TITLE}{found['model']}"
    tables = "".join(_section(each) for each in found["sections"])
    return document(
        title,
        f'<h1>{escape(title)}</h1><div class="plots">{_plots(looks)}</div>{tables}<p>{EXPLAINED}</p>'
        f"<h2>Trainings</h2><pre>{escape(json.dumps(_said(found), indent=2, ensure_ascii=False))}</pre>",
    )


def _plots(looks: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    rounds = {loss: [point(each, each["tokens_a_round"]) for each in mine] for loss, mine in looks.items()}
    drawn = [plotted("tokens a round, held-out text at temperature 1", rounds, low=1.0)]
    shortest = min(len(each["acceptance"]) for mine in looks.values() for each in mine)
    for position in (each for each in PLOTTED if each <= shortest):
        lines = {loss: [point(each, each["acceptance"][position - 1]) for each in mine] for loss, mine in looks.items()}
        drawn.append(plotted(f"acceptance at position {position}, held-out text at temperature 1", lines, low=0.0))
    return "".join(drawn)


def _section(section: Mapping[str, Any]) -> str:
    positions = len(next(iter(section["losses"].values()))["acceptance"])
    names = ("loss", *(f"position {place + 1}" for place in range(positions)), "tokens a round", "to the best")
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(_row(loss, each, loss == section["best"]) for loss, each in section["losses"].items())
    return (
        f"<h2>T = {section['temperature']:g}, {escape(section['texts_of'])}: {section['texts']:,} texts, "
        f"{section['rows']:,} places</h2>"
        f'<div class="scroll"><table class="numbers"><tr>{head}</tr>{rows}</table></div>'
    )


def _row(loss: str, found: Mapping[str, Any], best: bool) -> str:
    cells = [loss, *(_cell(each) for each in (*found["acceptance"], found["tokens_per_round"]))]
    cells.append("the best" if best else _cell(found["to_the_best"]["tokens_per_round"], "+"))
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _cell(found: Mapping[str, float | None], sign: str = "") -> str:
    mean = f"{found['mean']:{sign}.3f}"
    return mean if found["low"] is None else f"{mean} ({found['low']:{sign}.3f} to {found['high']:{sign}.3f})"


def _said(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in found.items() if name != "sections"}
