"""The frame of a report: one HTML file with its own style, light or dark as the reader has it."""

from __future__ import annotations

from html import escape
from pathlib import Path

from truedraw.errors import BadFile

HUES = (215, 25, 140, 285, 0, 180, 50, 325)
"""Of the curves of one plot, in degrees around the circle of colours: neighbours are far apart."""
CURVES = " ".join(
    f".c{i} {{ stroke: hsl({hue} 65% var(--curves)); }} .k{i} {{ fill: hsl({hue} 65% var(--curves)); }}"
    for i, hue in enumerate(HUES)
)
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --back: #ffffff; --soft: #d8dee4; --bar: #5b8def; --bad: #c62828;
  --good: #2e7d32; --curves: 42%; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --back: #16191d; --soft: #3a4048; --bar: #7aa5f7;
  --bad: #ff8a80; --good: #81c784; --curves: 62%; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1, td, blockquote { overflow-wrap: break-word; }
.scroll { overflow-x: auto; margin: 1.5rem 0; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .25rem .6rem .25rem 0;
  border-bottom: 1px solid var(--soft); vertical-align: top; } td:first-child { white-space: nowrap; }
.numbers { font-size: 13px; font-variant-numeric: tabular-nums; } .numbers td, .numbers th { text-align: right;
  white-space: nowrap; vertical-align: bottom; padding: .2rem 0 .2rem .8rem; }
.numbers td:first-child, .numbers th:first-child { padding-left: 0; }
.passed { color: var(--good); } .failed { color: var(--bad); font-weight: bold; }
.plots { display: grid; gap: 1.5rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0; } figure.wide { grid-column: 1 / -1; max-width: 42rem; }
figcaption { font-size: 13px; font-weight: 600; margin-bottom: .3rem; }
figure svg { display: block; width: 100%; height: auto; } svg text { font-size: 11px; fill: var(--ink); }
.bar { fill: var(--bar); } .seen { fill: var(--good); } .small { fill: var(--soft); } .missed { fill: var(--bad); }
.curve { fill: none; stroke: var(--bar); stroke-width: 1.5; } .frame { fill: none; stroke: var(--ink); }
.again { stroke-dasharray: 6 3; } line.grid { stroke: var(--soft); stroke-width: .7; }
line.limit { stroke: var(--bad); stroke-dasharray: 4 3; } line.middle { stroke: var(--ink); stroke-dasharray: 1 3; }
.key { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: 13px; }
blockquote { margin: .4rem 0; padding: .1rem .8rem; border-left: 3px solid var(--soft); white-space: pre-wrap; }
pre { overflow-x: auto; background: color-mix(in srgb, var(--soft) 35%, transparent); padding: .6rem; }
"""


def document(title: str, body: str) -> str:
    """The whole page; `body` is HTML, `title` a text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{CURVES}</style></head><body>{body}</body></html>\n"
    )


def check_ours(path: Path, title: str, instead: str = "give another --output, or --overwrite") -> None:
    """Raises BadFile where something else stands there than a page of ours whose title begins so: it would be lost."""
    begins = document(title, "").partition("</title>")[0].encode()
    if path.exists() and _first(path, len(begins)) not in (b"", begins):
        raise BadFile(f"{path} is there already and is no report of ours; {instead}")


def _first(path: Path, size: int) -> bytes | None:
    """Bytes; None for a file that may not be read."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return None
