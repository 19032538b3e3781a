"""A training as one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from truedraw.distill.outlook_page import outlook_html
from truedraw.page.document import document
from truedraw.page.svg import Axes, key, plot, rounded, steps, ticks, trace

ACROSS = "tokens trained on, in thousands"
THOUSAND = 1000
TITLE = "Draft for "  # and the model's name
Point = tuple[float, float]

EXPLAINED = (
    "Acceptance is the mean chance that a draft at this position of a chain is kept, behind the text's own tokens; "
    "tokens a round counts the model's own token too. Held-out texts are never trained on. The table is measured after "
    "rounding to int8, on the weights that did best on held-out text. kept within: that one of so many candidates "
    "for the first position is kept, at temperature 1."
)


def to_html(card: Mapping[str, Any], curve: Sequence[Mapping[str, Any]], looks: Sequence[Mapping[str, Any]]) -> str:
    """The page; `card` is what the head's card says of its training, the others are the points of a State."""
    title = TITLE + str(card.get("model", "a model"))
    settings = json.dumps(card, indent=2, ensure_ascii=False)
    return document(
        title,
        f'<h1>{escape(title)}</h1>{_table(card)}<div class="plots">{_plots(curve, looks)}</div>'
        f"<p>{EXPLAINED}</p>{outlook_html(looks, card.get('outlook'))}<h2>Card</h2><pre>{escape(settings)}</pre>",
    )


def _plots(curve: Sequence[Mapping[str, Any]], looks: Sequence[Mapping[str, Any]]) -> str:
    loss = {"loss": [point(each, each["loss"]) for each in curve]}
    rounds = {"held out": [point(each, each["tokens_a_round"]) for each in looks]}
    return "".join(
        [
            plotted("loss", loss, low=None),
            plotted("tokens a round of a chain, held-out text at temperature 1", rounds, low=1.0),
            plotted("acceptance by position, training text", by_position(curve), low=0.0),
            plotted("acceptance by position, held-out text at temperature 1", by_position(looks), low=0.0),
        ]
    )


def by_position(points: Sequence[Mapping[str, Any]]) -> dict[str, list[Point]]:
    """Lines of acceptance from looks or points of the curve."""
    count = len(points[0]["acceptance"]) if points else 0
    return {f"position {i + 1}": [point(each, each["acceptance"][i]) for each in points] for i in range(count)}


def point(at: Mapping[str, Any], value: float) -> Point:
    """Where a value of a look stands in a plot."""
    return at["tokens"] / THOUSAND, float(value)


def plotted(title: str, lines: Mapping[str, Sequence[Point]], low: float | None) -> str:
    """Lines over tokens trained on; `low`: where the axis begins, None: below the least value."""
    points = [each for line in lines.values() for each in line]
    if not points:
        return ""
    last = max(x for x, _ in points)
    values = [y for _, y in points]
    bottom = min(values) if low is None else low
    top = max(values)
    axes = Axes((0.0, last or 1.0), rounded(bottom, top if top > bottom else bottom + 1.0))
    body = "".join(trace(axes, line, number, name) for number, (name, line) in enumerate(lines.items()))
    drawn = plot(axes, body + ticks(axes, steps(*axes.x)), title, ACROSS)
    return f"<div>{drawn}{key(list(lines)) if len(lines) > 1 else ''}</div>"


def _table(card: Mapping[str, Any]) -> str:
    held_out = card.get("held_out", {})
    count = max((len(each["acceptance"]) for each in held_out.values()), default=0)
    head = "".join(f"<th>{name}</th>" for name in
                   ("temperature", *(f"position {i + 1}" for i in range(count)), "tokens a round", "rows"))  # fmt: skip
    rows = "".join(_row(temperature, each) for temperature, each in held_out.items())
    within = ", ".join(f"{each:.3f}" for each in card.get("kept_within", ()))
    more = f"<p>Kept within 1, 2, ... candidates: {within}.</p>" if within else ""
    return f'<div class="scroll"><table class="numbers"><tr>{head}</tr>{rows}</table></div>{more}'


def _row(temperature: str, found: Mapping[str, Any]) -> str:
    numbers = [f"{each:.3f}" for each in (*found["acceptance"], found["tokens_a_round"])]
    return f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in (temperature, *numbers, found['rows']))}</tr>"
