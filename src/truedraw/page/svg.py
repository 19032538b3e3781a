"""Small plots as inline SVG: bars and curves over a frame with a few ticks and reference lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from truedraw.page.document import HUES

WIDTH, HEIGHT = 420, 220  # of a plot, in pixels
LEFT, RIGHT, TOP, BOTTOM = 52, 18, 12, 38  # margins
BELOW = 16  # pixels from an axis to the words below it
ROW = 22  # height of a labelled bar
LABELS = 240  # width of the labels of such bars
MOST_TICKS = 6  # of an axis, its ends not counted
LABEL = 30  # pixels from one value below an axis to the next, so that both can be read
ROUNDING = 1e-9  # of a step
NUMBERS = 70  # width of what stands behind a bar


@dataclass(frozen=True, slots=True)
class Axes:
    """From data to pixels."""

    x: tuple[float, float]
    y: tuple[float, float]

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of a point; values outside sit on the edge."""
        across = _share(x, *self.x) * (WIDTH - LEFT - RIGHT) + LEFT
        up = _share(y, *self.y) * (HEIGHT - TOP - BOTTOM) + BOTTOM
        return round(across, 1), round(HEIGHT - up, 1)


def _share(value: float, low: float, high: float) -> float:
    return min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.0


def curve(axes: Axes, values: Sequence[float]) -> str:
    """A line through values at equal distances over the whole x range."""
    steps = max(len(values) - 1, 1)
    xs = [axes.x[0] + (axes.x[1] - axes.x[0]) * i / steps for i in range(len(values))]
    points = " ".join("{},{}".format(*axes.point(x, y)) for x, y in zip(xs, values, strict=True))
    return f'<polyline class="curve" points="{points}"/>'


def trace(axes: Axes, points: Sequence[tuple[float, float]], number: int, name: str = "") -> str:
    """A line through the points and a dot at each, in the colour of curve `number`; `name` is shown on pointing."""
    colour, kind = number % len(HUES), curve_kind(number)
    at = [axes.point(x, y) for x, y in points]
    line = " ".join(f"{x},{y}" for x, y in at)
    dots = "".join(f'<circle class="k{colour}" cx="{x}" cy="{y}" r="3"/>' for x, y in at)
    return f'<g><title>{escape(name)}</title><polyline class="{kind}" points="{line}"/>{dots}</g>'


def curve_kind(number: int) -> str:
    """The classes of a line: its colour, and dashes where all colours have been used before."""
    return f"curve c{number % len(HUES)}" + (" again" if number >= len(HUES) else "")


def key(names: Sequence[str]) -> str:
    """Which colour is which curve, for above the plots."""
    marks = (
        f'<li><svg width="24" height="12"><path class="{curve_kind(i)}" d="M0,6 H24"/>'
        f'<circle class="k{i % len(HUES)}" cx="12" cy="6" r="4"/></svg> {escape(name)}</li>'
        for i, name in enumerate(names)
    )
    return f'<ul class="key">{"".join(marks)}</ul>'


def ticks(axes: Axes, xs: Sequence[float]) -> str:
    """The values below the x axis between its ends, as many as can be read."""
    (last, y), (right, _) = axes.point(axes.x[0], axes.y[0]), axes.point(axes.x[1], axes.y[0])
    found = []
    for value in xs:
        x = axes.point(value, axes.y[0])[0]
        if last + LABEL <= x <= right - LABEL:
            last = x
            found.append(f'<text x="{x}" y="{y + BELOW}" text-anchor="middle">{value:.5g}</text>')
    return "".join(found)


def steps(low: float, high: float) -> list[float]:
    """Round numbers, at most MOST_TICKS, from `low` or above to `high` or below."""
    if not high > low:
        return [low]
    rough = (high - low) / (MOST_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = math.ceil(low / step - ROUNDING), math.floor(high / step + ROUNDING)
    return [step * i for i in range(first, last + 1)]


def rounded(low: float, high: float) -> tuple[float, float]:
    """The least range of round numbers around this one."""
    marks = steps(low, high)
    step = marks[1] - marks[0] if len(marks) > 1 else high - low
    return step * math.floor(low / step + ROUNDING), step * math.ceil(high / step - ROUNDING)


def bars(axes: Axes, values: Sequence[float]) -> str:
    """Bars from 0 that fill the x range."""
    width = (axes.x[1] - axes.x[0]) / max(len(values), 1)
    return "".join(_bar(axes, axes.x[0] + i * width, width, value) for i, value in enumerate(values))


def _bar(axes: Axes, x: float, width: float, value: float) -> str:
    (left, top), (right, bottom) = axes.point(x, value), axes.point(x + width, 0)
    return (
        f'<rect class="bar" x="{left}" y="{top}" width="{right - left - 1:.1f}" height="{max(bottom - top, 0):.1f}"/>'
    )


def level(axes: Axes, y: float, label: str = "", kind: str = "limit") -> str:
    """A horizontal reference line."""
    (left, height), (right, _) = axes.point(axes.x[0], y), axes.point(axes.x[1], y)
    text = (
        f'<text class="{kind}" x="{right}" y="{height - 4}" text-anchor="end">{escape(label)}</text>' if label else ""
    )
    return f'<line class="{kind}" x1="{left}" x2="{right}" y1="{height}" y2="{height}"/>{text}'


def plot(axes: Axes, body: str, title: str, x_label: str) -> str:
    """The whole picture; `title` is also read out."""
    (left, bottom), (right, top) = axes.point(axes.x[0], axes.y[0]), axes.point(axes.x[1], axes.y[1])
    marks = steps(*axes.y)
    levels = [(y, axes.point(axes.x[0], y)[1]) for y in marks]
    grid = "".join(f'<line class="grid" x1="{left}" x2="{right}" y1="{at}" y2="{at}"/>' for _, at in levels)
    values = "".join(f'<text x="{left - 6}" y="{at + 4}" text-anchor="end">{_plain(y)}</text>' for y, at in levels)
    ends = "".join(
        f'<text x="{x}" y="{bottom + BELOW}" text-anchor="middle">{value:.5g}</text>'
        for x, value in ((left, axes.x[0]), (right, axes.x[1]))[: 2 if axes.x[1] > axes.x[0] else 1]
    )
    middle = f'<text x="{(left + right) / 2}" y="{bottom + 2 * BELOW}" text-anchor="middle">{escape(x_label)}</text>'
    frame = f'<path class="frame" d="M{left},{top} V{bottom} H{right}"/>'
    return _figure(title, (WIDTH, HEIGHT), grid + body + frame + values + ends + middle)


def _plain(value: float) -> str:
    """Without what floating point adds to a round number; 0 has no sign."""
    return f"{value:.6g}" if abs(value) > ROUNDING else "0"


def labelled_bars(rows: Sequence[tuple[str, float, str, str]], limit: float, title: str) -> str:
    """Rows of (label, length 0 to 1, text behind it, class of the bar), and a vertical line at `limit`."""
    room, height = WIDTH - NUMBERS, ROW * len(rows) + 8
    parts = [
        f'<text x="{LABELS - 8}" y="{ROW * i + 17}" text-anchor="end">{escape(label)}</text>'
        f'<rect class="{kind}" x="{LABELS}" y="{ROW * i + 6}" width="{max(length * room, 1):.1f}" height="{ROW - 8}"/>'
        f'<text x="{LABELS + length * room + 6:.1f}" y="{ROW * i + 17}">{escape(text)}</text>'
        for i, (label, length, text, kind) in enumerate(rows)
    ]
    at = LABELS + limit * room
    line = f'<line class="limit" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{height}"/>'
    return _figure(title, (LABELS + WIDTH, height), "".join(parts) + line, "wide")


def _figure(title: str, size: tuple[int, int], body: str, kind: str = "plot") -> str:
    name, (width, height) = escape(title, quote=True), size
    return (
        f'<figure class="{kind}"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{name}">{body}</svg></figure>'
    )
