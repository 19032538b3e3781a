"""Where a curve points, as a part of a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from truedraw.page.svg import Axes, key, plot, rounded, steps, ticks, trace

ACROSS = "tokens trained on, power of ten"
ENDS = {"expected": "expected", "low": "low end", "high": "high end"}


def outlook_html(looks: Sequence[Mapping[str, Any]], found: Mapping[str, Any] | None) -> str:
    """Words and a plot; nothing where nothing can be said."""
    seen = [(math.log10(each["tokens"]), float(each["tokens_a_round"])) for each in looks if each["tokens"] > 0]
    if found is None or not seen:
        return ""
    return f'<h2>Ten times more</h2><p>{sentence(found)}</p><div class="plots">{_plot(seen, found)}</div>'


def sentence(found: Mapping[str, Any]) -> str:
    """For people; says that it is an extrapolation."""
    rounds, first = found["tokens_a_round"], found["acceptance"][0]
    return (
        f"Extrapolated, not measured: at {found['tokens']:,} tokens trained on, {found['times']} times as many, a "
        f"power law through the last {found['looks']} looks has {rounds['expected']:.2f} tokens a round "
        f"({rounds['low']:.2f} to {rounds['high']:.2f}) and {first['expected']:.3f} at position 1 "
        f"({first['low']:.3f} to {first['high']:.3f}). The intervals know how the looks scatter, not whether the law "
        "goes on, and it would need new text, too."
    )


def _plot(seen: Sequence[tuple[float, float]], found: Mapping[str, Any]) -> str:
    ahead = math.log10(found["tokens"])
    lines = {
        "held out": seen,
        **{name: [seen[-1], (ahead, found["tokens_a_round"][end])] for end, name in ENDS.items()},
    }
    top = max(value for line in lines.values() for _, value in line)
    axes = Axes((seen[0][0], ahead), rounded(1.0, max(top, 1.1)))
    body = "".join(trace(axes, line, number, name) for number, (name, line) in enumerate(lines.items()))
    drawn = plot(axes, body + ticks(axes, steps(*axes.x)), "tokens a round, and an extrapolation", ACROSS)
    return f"<div>{drawn}{key(list(lines))}</div>"
