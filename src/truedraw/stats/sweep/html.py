"""A sweep as one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from sys import float_info
from typing import Any

from truedraw.page.document import document
from truedraw.page.svg import Axes, key, plot, rounded, ticks, trace
from truedraw.sampling.values import number, shortest
from truedraw.stats.diversity import Mean
from truedraw.stats.sweep.points import ORDERS, PointReport, Values

LONGEST_EXAMPLE = 400  # characters
Metric = Callable[[PointReport], float | None]

Span = tuple[float | None, float | None]
"""The ends of an axis, as far as they are known."""

METRICS: tuple[tuple[str, Metric, Span], ...] = (
    *((f"distinct-{n}", lambda point, n=n: point.distinct[n], (0.0, 1.0)) for n in ORDERS),
    ("self-BLEU", lambda point: point.self_bleu, (0.0, 1.0)),
    ("log probability by the model, nats a token", lambda point: point.logprob.value, (None, 0.0)),
    ("entropy of the sampling law, nats a token", lambda point: point.entropy.value, (0.0, None)),
)
"""What is plotted: its name, where it stands, and its range."""
TITLE = "Sweep of "  # what follows is the model's name
HEAD = ("samples", "tokens", "ended", *(f"distinct-{n}" for n in ORDERS), "self-BLEU", "log probability", "entropy")


def to_html(points: Sequence[PointReport], settings: Mapping[str, Any]) -> str:
    """The page: plots against the first parameter that varies (temperature, if it does), a table, examples."""
    title = f"{TITLE}{settings.get('model', 'a model')}"
    across = varying(points)
    curves = by_curve(points, across)
    plots = "".join(_plot(metric, curves, across) for metric in METRICS) if across else ""
    names = key([_name(values) for values in curves]) if across and len(curves) > 1 else ""
    return document(
        title,
        f'<h1>{escape(title)}</h1><p>{_summary(points)}</p>{names}<div class="plots">{plots}</div>{_table(points)}'
        f"<p>{EXPLAINED}</p><h2>Examples</h2>{''.join(map(_example, points))}"
        f"<h2>Settings</h2><pre>{escape(json.dumps(settings, indent=2, ensure_ascii=False))}</pre>",
    )


EXPLAINED = (
    "distinct-n: different runs of n tokens over all of them. self-BLEU: how much each sample repeats of the others, "
    "1 = all alike. Both are taken among the samples of each prompt and averaged over the prompts. The log probability "
    "is the model's own, before temperature and truncation; the entropy is that of the law that was sampled, estimated "
    "from the samples. ± is a standard error."
)


def varying(points: Sequence[PointReport]) -> str | None:
    """The first parameter with more than one value, else the first one; None where there is no parameter."""
    names = [name for name, _ in points[0].values] if points else []
    several = [name for name in names if len({dict(point.values)[name] for point in points}) > 1]
    return next(iter([*several, *names]), None)


def by_curve(points: Sequence[PointReport], across: str | None) -> dict[Values, list[PointReport]]:
    """The points by what else they have in common, each group in the order of `across`."""
    found: dict[Values, list[PointReport]] = {}
    for point in points:
        found.setdefault(tuple(pair for pair in point.values if pair[0] != across), []).append(point)
    return found


def _plot(metric: tuple[str, Metric, Span], curves: Mapping[Values, Sequence[PointReport]], across: str) -> str:
    title, value, span = metric
    drawn = {
        _name(values): [(_place(p, across), y) for p in group if (y := value(p)) is not None]
        for values, group in curves.items()
    }
    values = [y for line in drawn.values() for _, y in line]
    if not values:
        return ""
    xs = sorted({_place(point, across) for group in curves.values() for point in group})
    axes = Axes((xs[0], xs[-1]), _range(span, values))
    body = "".join(trace(axes, line, i, name) for i, (name, line) in enumerate(drawn.items()))
    return plot(axes, body + ticks(axes, xs), title, across)


def _range(span: Span, values: Sequence[float]) -> tuple[float, float]:
    """From what is known and what is there, to round numbers."""
    low, high = (end if end is not None else found(values) for end, found in zip(span, (min, max), strict=True))
    return rounded(low, high if high > low else low + 1.0)


def _table(points: Sequence[PointReport]) -> str:
    axes = [name for name, _ in points[0].values] if points else []
    head = "".join(f"<th>{escape(name)}</th>" for name in (*axes, *HEAD))
    return f'<div class="scroll"><table class="numbers"><tr>{head}</tr>{"".join(map(_row, points))}</table></div>'


def _row(point: PointReport) -> str:
    failed = f" and {point.failed} failed" if point.failed else ""
    cells = [
        *(shortest(value) for _, value in point.values),
        f"{point.samples}{failed}",
        number(point.tokens, ".1f"),
        number(point.stopped, ".0%"),
        *(number(point.distinct[n], ".3f") for n in ORDERS),
        number(point.self_bleu, ".3f"),
        _with_error(point.logprob),
        _with_error(point.entropy),
    ]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _example(point: PointReport) -> str:
    text = point.example if len(point.example) <= LONGEST_EXAMPLE else point.example[:LONGEST_EXAMPLE] + "…"
    shown = escape(text) if text.strip() else "<i>no text</i>"
    return f"<p>{escape(_name(point.values))}</p><blockquote>{shown}</blockquote>"


def _summary(points: Sequence[PointReport]) -> str:
    samples, failed = sum(point.samples for point in points), sum(point.failed for point in points)
    lossy = sum(point.lossy for point in points)
    mark = f" <b>Lossy: {lossy} of them do not have the model's distribution.</b>" if lossy else ""
    return f"{samples} samples at {len(points)} points" + (f"; {failed} failed." if failed else ".") + mark


def _name(values: Values) -> str:
    return ", ".join(f"{name} {shortest(value)}" for name, value in values)


def _place(point: PointReport, across: str) -> float:
    """Where it stands on the x axis: at the largest float where the value is a larger one, as a top_k may be."""
    return float(min(dict(point.values)[across], float_info.max))


def _with_error(mean: Mean) -> str:
    return number(mean.value, ".3f") + ("" if mean.error is None else f" ± {mean.error:.3f}")
