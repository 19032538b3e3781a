"""A result as HTML, tokens coloured by where they came from."""

from __future__ import annotations

from html import escape
from itertools import zip_longest

from truedraw.generate.result import Choice, Result
from truedraw.sampling.values import number

BACKGROUNDS = {"draft": "#c8f0c8", "bonus": "#cfe3ff", "residual": "#ffe0c0", "plain": "transparent",
               "forced": "#e4d8f4"}  # fmt: skip
"""Background colours by origin: dark text on each has a contrast above 12 to 1."""


def to_html(result: Result) -> str:
    """A self-contained fragment for notebooks."""
    legend = " ".join(_span(origin, origin) for origin in BACKGROUNDS)
    texts = "".join(f"<p>{_text(choice)}</p>" for choice in result.choices)
    rate = result.stats.tokens_per_round
    mark = "" if result.exact else " · <b>lossy: not the model's distribution</b>"
    round_length = number(rate, ".2f")
    return f"<div>{texts}<small>{legend} · {round_length} tokens a round{mark}</small></div>"


def _text(choice: Choice) -> str:
    pairs = zip_longest(choice.pieces, choice.origins, fillvalue="")
    return "".join(_span(piece, origin) for piece, origin in pairs if piece)


def _span(text: str, origin: str) -> str:
    style = f"background:{BACKGROUNDS.get(origin, 'transparent')};color:#111;white-space:pre-wrap"
    return f'<span title="{origin}" style="{style}">{escape(text)}</span>'
